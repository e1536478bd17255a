"""The cascade as a small HTTP service: open a case, be told what to buy, get the decision.

`application` and `server` need FastAPI and uvicorn: ``pip install 'emsco[serve]'``.
"""

from emsco.app.service.settings import Settings

__all__ = ["Settings"]
