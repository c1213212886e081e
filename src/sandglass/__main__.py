"""`python -m sandglass` is the command line."""

import gc
import os
import signal


def main() -> None:
    """Entry point of the program `sandglass`."""
    # Importing makes many objects and no garbage: a tenth of a start went into looking for some.
    gc.set_threshold(100_000)

    # Until there is somebody to catch an interrupt, it ends us without a traceback.
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    # NumPy starts a thread for each processor, for matrices: we have none, and labs want those.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Pydantic looks for plugins in whatever is installed: another fiftieth of a start.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

    from sandglass import cli  # noqa: PLC0415 what is above comes first

    cli.main()


if __name__ == "__main__":
    main()
