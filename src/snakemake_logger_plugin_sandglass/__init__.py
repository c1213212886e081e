"""A plugin of Snakemake's, which finds it by this name: tells sandglass.workflow of its jobs.

`snakemake --logger sandglass` uses it.
"""

from logging import LogRecord
from typing import Any

from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from sandglass.workflow.events import Event, What, tell


def event(record: dict[str, Any]) -> Event | None:
    """What one of Snakemake's records means to us, if anything."""
    match record.get("event"):
        case LogEvent.RUN_INFO:
            jobs = {name: count for name, count in record["stats"].items() if name != "total"}
            return Event(What.PLANNED, jobs=jobs)
        case LogEvent.JOB_INFO:
            said = record["rule_msg"] or record["rule_name"]
            return Event(What.BEGAN, str(record["jobid"]), said, record["rule_name"])
        case LogEvent.JOB_FINISHED:
            return Event(What.ENDED, str(record["job_id"]))
        case LogEvent.JOB_ERROR:
            logs = [str(log) for log in record["log"]]
            return Event(What.FAILED, str(record["jobid"]), rule=record["rule_name"], logs=logs)
        case LogEvent.ERROR:
            return Event(What.ERROR, name=str(record["msg"]))
    return None


class LogHandler(LogHandlerBase):
    """Beside Snakemake's own, which goes on to write its words."""

    def emit(self, record: LogRecord) -> None:
        """Tell of a record."""
        if told := event(record.__dict__):
            tell(told)

    @property
    def writes_to_stream(self) -> bool:
        """Not to the terminal."""
        return False

    @property
    def writes_to_file(self) -> bool:
        """Not to a file that Snakemake would name as its log."""
        return False

    @property
    def has_filter(self) -> bool:
        """Takes what it wants itself, whatever Snakemake is told to be quiet about."""
        return True

    @property
    def has_formatter(self) -> bool:
        """Formats nothing."""
        return True

    @property
    def needs_rulegraph(self) -> bool:
        """Not."""
        return False
