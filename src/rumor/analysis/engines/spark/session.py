"""The start of Spark, without output, and its failures in one sentence.

The output of Java goes to a temporary file, not to the terminal. The cause of a failure is read
from that file and from Java's exceptions, and reported without their traces.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException

from rumor.core.errors import InputError, format_value

SPARK_ERRORS = (Py4JError, PySparkException)
_INPUT_ERROR = "rumor.core.errors.InputError: "
_LONGEST = 300
_THREAD = re.compile(r'^Exception in thread "[^"]*" ')


def start_context(master: str | None) -> SparkContext:
    """Start a Spark context: on this machine's processors, or at `master`.

    Under spark-submit it is where that says. The settings of SPARK_HOME/conf and
    SPARK_CONF_DIR hold; nothing is printed.
    """
    if SparkContext._active_spark_context is not None:
        raise InputError(
            "Spark runs once in a process; this one has a session already: pass it to SparkEngine"
        )
    require_java()
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    place = master or ("" if submitted else "local[*]")
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    environment = {}
    if place.startswith("local"):
        # Spark stays on this machine, so no host name has to be looked up.
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        # Java only passes bytes on here: compiling that thoroughly takes longer than it saves.
        settings["spark.driver.extraJavaOptions"] = "-XX:TieredStopAtLevel=1"
        environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryFile() as log, _defaults(environment):
        try:
            with _output_to(log):
                conf = SparkConf().setAppName("rumor")
                if place:
                    conf.setMaster(place)
                for name, value in settings.items():
                    conf.setIfMissing(name, value)
                context = SparkContext(conf=conf)
                context.setLogLevel("OFF")
                return context
        except (*SPARK_ERRORS, RuntimeError, OSError) as problem:
            raise InputError(
                f"Spark could not be started with master {format_value(place)}: "
                f"{_why(problem, log)}"
            ) from None


def require_java() -> str:
    """Return the path of Java, or refuse in one sentence."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118
    if found is None:
        where = f"JAVA_HOME is {home!r}" if home else "none is on the path and JAVA_HOME is not set"
        raise InputError(f"Spark needs Java 17 or newer; {where}")
    return found


def spark_error(problem: BaseException) -> InputError:
    """Return a failure of Spark as one sentence; Rumor's own errors on workers stay as they are."""
    text = str(problem)
    if isinstance(problem, Py4JJavaError):
        # The text of Java's exception, which str() buries under the trace.
        text = str(problem.java_exception.toString())
    cause = _last_of_traceback(text) or _first_line(text)
    if cause.startswith(_INPUT_ERROR):
        return InputError(cause.removeprefix(_INPUT_ERROR))
    if "stopped SparkContext" in cause:
        cause = "the cluster cannot be reached, or it has ended the work"
    return InputError(f"Spark could not finish the work: {_short(cause)}")


def _last_of_traceback(text: str) -> str | None:
    """Return the line that ends the Python traceback in `text`, or None."""
    _, found, trace = text.rpartition("Traceback (most recent call last):")
    if not found:
        return None
    lines = [line for line in trace.split("\n\tat ")[0].splitlines() if line.strip()]
    ends = [line for line in lines if not line[0].isspace()]
    return ends[0].strip() if ends else None


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    first = _THREAD.sub("", lines[0]) if lines else "no reason was given"
    name, colon, rest = first.partition(": ")
    # Without the name of a Java class in front.
    return rest if colon and "." in name and " " not in name else first


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _why(problem: BaseException, log: IO[bytes]) -> str:
    """Return the reason: from Java's exception or, if Java did not start, from its output."""
    if isinstance(problem, Py4JJavaError):
        return _short(_first_line(str(problem.java_exception.toString())))
    log.seek(0)
    printed = log.read().decode("utf-8", "replace").splitlines()
    said = [line for line in printed if "Exception" in line or "Error" in line]
    return _short(_first_line((said or [str(problem)])[0]))


@contextmanager
def _output_to(log: IO[bytes]) -> Iterator[None]:
    """Let what is started in the block print to a file, for ever."""
    sys.stdout.flush()
    sys.stderr.flush()
    saved = [os.dup(number) for number in (1, 2)]
    try:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, old in zip((1, 2), saved, strict=True):
            os.dup2(old, number)
            os.close(old)


@contextmanager
def _defaults(environment: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment for the block, unless they are set."""
    new = {name: value for name, value in environment.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)
