"""The signer that a configuration asks for. Without `identity.signing_key` nothing of it is loaded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from gossamer.model.config import Config, Identity

if TYPE_CHECKING:
    from gossamer.adapters.signing import Signer

DIRECTORY_PATH: Final = "/.well-known/http-message-signatures-directory"


def agent_of(identity: Identity) -> str:
    """Where our public keys are found: `identity.signature_agent`, else at the contact's site; "" when neither is."""
    if identity.signature_agent:
        return identity.signature_agent
    contact = urlsplit(identity.contact)
    return f"https://{contact.netloc}{DIRECTORY_PATH}" if contact.scheme == "https" else ""


def signer_of(config: Config) -> Signer | None:
    """Signs what this crawl sends; None when it is not to be signed. Raises ConfigError."""
    identity = config.identity
    if not identity.signing_key:
        return None
    from gossamer.adapters.signing import Signer, load_keys

    return Signer(load_keys(Path(identity.signing_key)), agent_of(identity))
