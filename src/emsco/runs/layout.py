"""The files of a run folder, by name."""

__all__ = ["CASCADE", "CHECKPOINT", "FORMAT", "FRONT", "HISTORY", "RUN"]

FORMAT = 3  # of run.json
RUN, FRONT, CASCADE, HISTORY = "run.json", "front.json", "cascade.json", "history.csv"
CHECKPOINT = "checkpoint"
