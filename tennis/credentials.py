# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Keys of a bucket: they belong into the environment, and are printed nowhere."""

import os
import re

from tennis.errors import UsageError

# s3://KEY:SECRET@BUCKET, however it is misspelled; options behind a question mark, or a secret
# behind a sharp; a colon in front of the first slash, as no bucket has one in its name
_IN_BUCKET_URL = re.compile(
    r"(?<![a-z0-9])s3[an]?:(?:.*[@?#]|/*[^/\s]*[:%])", re.IGNORECASE | re.DOTALL
)
# options and a secret of other stores that fsspec reaches. Serial ports' URLs are none of them:
# spy:///dev/null?file=X is refused where ports are read, with what a port may be
_STORES = (
    *("abfss?", "adl", "az", "azure", "dav", "dbfs", "dropbox", "ftps?", "gcs", "gdrive", "gs"),
    *("hdfs", "hf", "lakefs", "obs", "oci", "oss", "r2", "sftp", "smb", "ssh", "tosfs"),
    *("wasbs?", "webdavs?", "webhdfs"),
)
_IN_STORE_URL = re.compile(
    rf"(?<![a-z0-9])(?:{'|'.join(_STORES)}):/+[^\s]*[?#]", re.IGNORECASE | re.DOTALL
)
# the same of any other URL: ftp://USER:PASSWORD@HOST; https://HOST/FILE?X-Amz-Signature=...
_IN_URL = re.compile(r"(?<![a-z0-9])[a-z][a-z0-9+.-]*:/+[^\s]*:[^\s]*@", re.IGNORECASE)
_IN_OPTIONS = re.compile(
    r"(?<![a-z0-9])[a-z][a-z0-9+.-]*:/+[^\s]*[?&#;][^\s=&]*"
    r"(?:key|secret|token|passw|pwd|credential|signature|\bsig)[^\s=&]*=",
    re.IGNORECASE,
)
_HOLDS = (_IN_BUCKET_URL, _IN_STORE_URL, _IN_URL, _IN_OPTIONS)
_USER = re.compile(r"(?<=://)[^\s/@]*:[^\s@]*@")
_SECRET_VARIABLES = ("AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_SECRET_MIN = 4  # characters: a shorter one is in any text


def refuse_credentials(words: str) -> None:
    """Raise UsageError, which does not quote them, where a URL in ``words`` holds a key."""
    if any(one.search(words) for one in _HOLDS):
        raise UsageError(
            "a URL holds a key or a password (it is not printed here)",
            next_step="name a bucket as s3://BUCKET/PLACE, and put the key into the environment: "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        )


def without_credentials(words: str) -> str:
    """Return what a library said, without keys and passwords that it may have quoted."""
    for name in _SECRET_VARIABLES:
        secret = os.environ.get(name, "")
        if len(secret) >= _SECRET_MIN:
            words = words.replace(secret, f"${name}")
    return _USER.sub("...@", words)
