"""The files of a run folder, by name."""

__all__ = [
    "CASCADE",
    "CERTIFICATE",
    "CHECKPOINT",
    "FORMAT",
    "FRONT",
    "HISTORY",
    "MONITOR",
    "RUN",
    "SPENT",
]

FORMAT = 3  # of run.json
RUN, FRONT, CASCADE, HISTORY = "run.json", "front.json", "cascade.json", "history.csv"
CERTIFICATE, MONITOR, SPENT = "certificate.json", "monitor.json", "spent.json"
CHECKPOINT = "checkpoint"
