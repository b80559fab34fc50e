"""`tyrex lsp`: the language server."""

from __future__ import annotations

from tyrex.cli.common import fail


def lsp() -> None:
    """Serve editors over standard input and output (language server protocol)."""
    try:
        from tyrex.editor.server import main  # pygls is an extra, so it may not be there
    except ModuleNotFoundError as error:
        raise fail(f"{error.name} is missing; install it with `pip install 'tyrex[lsp]'`") from None
    main()
