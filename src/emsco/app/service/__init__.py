"""The cascade as a small HTTP service: open a case, be told what to buy, get the decision.

All modules but `settings` and `store` need Starlette, uvicorn, pydantic and prometheus_client:
``pip install 'emsco[serve]'``.
"""

from emsco.app.service.settings import Settings

__all__ = ["Settings"]
