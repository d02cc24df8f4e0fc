"""Types: what is not requested because of its file extension, and what is cut at the head because of its media type.

The crawl collects pages and documents: HTML, plain text, feeds, PDF, office files. Images, audio, video, archives,
programs and fonts are not requested. Nor are scripts and style sheets: they are no pages and bear no links, and a
replay that wants them is an archive of page requisites, which `fetch.types` can ask for. The extension is only a
guess from outside; the media type that the server sends is what is kept.

This concerns pages. A robots.txt or a sitemap (`sitemap.xml.gz`) is asked for by its role, not by its type.
"""

from __future__ import annotations

from typing import Final

from gossamer.model.url import Url

# Families wanted in no part, and single types of mixed families: media type -> extensions that promise it.
_UNWANTED: Final[dict[str, tuple[str, ...]]] = {
    "image/avif": ("avif",), "image/bmp": ("bmp", "dib"), "image/gif": ("gif",), "image/heic": ("heic",),
    "image/heif": ("heif",), "image/jp2": ("jp2",), "image/jpeg": ("jpg", "jpeg", "jpe", "jfif"), "image/jxl": ("jxl",),
    "image/png": ("png", "apng"), "image/svg+xml": ("svg", "svgz"), "image/tiff": ("tif", "tiff"),
    "image/vnd.adobe.photoshop": ("psd",), "image/vnd.djvu": ("djvu", "djv"), "image/webp": ("webp",),
    "image/x-icon": ("ico", "cur"), "image/x-raw": ("cr2", "nef", "dng", "arw"), "image/vnd.microsoft.icon": (),
    "image/pjpeg": (), "image/x-xcf": ("xcf",),
    "audio/aac": ("aac",), "audio/aiff": ("aif", "aiff"), "audio/basic": ("snd",), "audio/flac": ("flac",),
    "audio/midi": ("mid", "midi"), "audio/mp4": ("m4a", "m4b"), "audio/mpeg": ("mp3", "mp2", "mpga"),
    "audio/ogg": ("ogg", "oga", "opus", "spx"), "audio/wav": ("wav",), "audio/webm": ("weba",),
    "audio/x-ms-wma": ("wma",), "audio/x-realaudio": ("ra", "ram"), "audio/x-mpegurl": ("m3u", "m3u8"),
    "audio/x-scpls": ("pls",), "audio/x-wav": (),
    "video/mp2t": ("mts", "m2ts"), "video/mp4": ("mp4", "m4v", "mp4v"), "video/mpeg": ("mpg", "mpeg", "mpe", "m2v"),
    "video/ogg": ("ogv",), "video/quicktime": ("mov", "qt"), "video/webm": ("webm",), "video/x-flv": ("flv", "f4v"),
    "video/x-matroska": ("mkv",), "video/x-ms-wmv": ("wmv", "asf"), "video/x-msvideo": ("avi",), "video/3gpp": ("3gp",),
    "video/3gpp2": ("3g2",), "video/vnd.rn-realvideo": ("rm", "rmvb"), "video/divx": ("divx",), "video/dvd": ("vob",),
    "font/woff": ("woff",), "font/woff2": ("woff2",), "font/ttf": ("ttf", "ttc"), "font/otf": ("otf",),
    "font/collection": (),
    "application/font-woff": (), "application/x-font-ttf": ("pfb", "pfm"), "application/vnd.ms-fontobject": ("eot",),
    "application/zip": ("zip",), "application/gzip": ("gz", "tgz"), "application/x-gzip": (),
    "application/x-tar": ("tar",), "application/x-bzip2": ("bz2", "tbz", "tbz2"), "application/x-xz": ("xz", "txz"),
    "application/zstd": ("zst",), "application/x-lzma": ("lzma",), "application/x-compress": ("z",),
    "application/x-7z-compressed": ("7z",), "application/x-rar": (), "application/vnd.rar": ("rar",),
    "application/x-rar-compressed": (), "application/x-zip-compressed": (), "application/x-lzip": ("lz",),
    "application/vnd.ms-cab-compressed": ("cab",), "application/x-iso9660-image": ("iso",),
    "application/x-apple-diskimage": ("dmg",), "application/java-archive": ("jar", "war", "ear"),
    "application/vnd.android.package-archive": ("apk", "aab"), "application/x-xpinstall": ("xpi", "crx"),
    "application/vnd.debian.binary-package": ("deb", "udeb"), "application/x-rpm": ("rpm",),
    "application/x-cpio": ("cpio",),
    "application/x-msdownload": ("exe", "dll"), "application/x-msi": ("msi", "msix", "appx"),
    "application/x-executable": ("bin", "elf"), "application/x-python-wheel": ("whl", "egg"),
    "application/x-ruby-gem": ("gem",), "application/wasm": ("wasm",), "application/x-shockwave-flash": ("swf",),
    "application/x-bittorrent": ("torrent",), "application/warc": ("warc", "arc"),
    "application/x-virtualbox-disk": ("vmdk", "vdi", "vhd", "vhdx", "qcow2", "img", "ova"),
    "text/css": ("css",), "text/javascript": ("js", "mjs", "cjs"), "application/javascript": (),
    "application/x-javascript": (), "application/ecmascript": (), "text/ecmascript": (),
}  # fmt: skip
_WHOLE_FAMILIES: Final = ("image/", "audio/", "video/", "font/")

_TYPE_OF: Final = {extension: kind for kind, extensions in _UNWANTED.items() for extension in extensions}

# After a segment with one of these, a path goes on as the script's argument: /index.php/File:Photo.jpg is a page.
_SCRIPTS: Final = (
    ".php", ".php3", ".php4", ".php5", ".phtml", ".cgi", ".pl", ".py", ".fcgi", ".asp", ".aspx", ".ashx", ".jsp",
    ".jspx", ".do", ".cfm", ".dll", ".exe",
)  # fmt: skip
_PROGRAMS: Final = frozenset({"exe", "dll"})  # with a query it is run on the server, not sent


def unwanted_type_of(url: Url) -> str | None:
    """The unwanted media type that the extension of a URL's path promises, or None.

    Nothing is promised by a query, a dot file, what follows a script, a domain name as a page's name (`.com` and `.au`
    are left out of the table), or a wiki's page about a file (`File:Photo.jpg`).
    """
    canonical = url.canonical
    if "?" not in canonical and ";" not in canonical and canonical[canonical.rfind(".") + 1 :].lower() not in _TYPE_OF:
        return None  # nearly every link: what follows the last dot is no extension of the table
    path, _, query = canonical.partition("?")
    slash = path.rfind("/")
    stem, _, extension = path[slash + 1 :].partition(";")[0].rpartition(".")
    extension = extension.lower()
    kind = _TYPE_OF.get(extension)
    if kind is None or not stem or ":" in stem or "%3A" in stem or (query and extension in _PROGRAMS):
        return None
    front = path[path.find("/", 8) : slash].lower()  # from the slash after the host
    if "." in front and any(segment.endswith(_SCRIPTS) for segment in front.split("/")):
        return None
    return kind


def wanted_url(url: Url, types: tuple[str, ...]) -> bool:
    """Whether a page is requested, going by its extension.

    Args:
        url: the page's.
        types: `fetch.types`: media types ("image/png"), families ("image/") or "*", fetched although unwanted.
    """
    kind = unwanted_type_of(url)
    return kind is None or _allowed(kind, types)


def unwanted_types(types: tuple[str, ...]) -> tuple[str, ...]:
    """Beginnings of the media types whose body is cut at the head, in lower case.

    Args:
        types: `fetch.types`, as in `wanted_url`. Where it allows one type of a family, the known rest of that family
            is listed one by one; a type that nobody has heard of is then let through.
    """
    if "*" in types:
        return ()
    split = {family for family in _WHOLE_FAMILIES if any(text.lower().startswith(family) for text in types)}
    families = [family for family in _WHOLE_FAMILIES if family not in split]
    rest = [kind for kind in _UNWANTED if not kind.startswith(tuple(families))]
    # They are compared as beginnings: "font/woff" would cut the "font/woff2" that was asked for.
    asked = tuple(text.lower() for text in types)
    single = [kind for kind in rest if not _allowed(kind, types) and not any(text.startswith(kind) for text in asked)]
    return (*families, *single)


def _allowed(kind: str, types: tuple[str, ...]) -> bool:
    return any(
        text == "*" or kind == text.lower() or (text.endswith("/") and kind.startswith(text.lower())) for text in types
    )
