"""Statistics of counts, costs and confidences that know nothing of designs."""
