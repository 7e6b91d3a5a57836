"""Shared by the checks of scripts/check-store: results, photographs, the bucket as another program sees it."""
import subprocess
import sys
import traceback
from pathlib import Path

import boto3
from botocore.client import Config

from ceph import KEY, SECRET

photod, demo, work = sys.argv[1], sys.argv[2], Path(sys.argv[3])
BUCKET, PREFIX = "photos", "my album"
LIBRARY = f"s3://{BUCKET}/{PREFIX}"
NETWORK = "&networkAccessAllowed=true"
# Characters that a URL, XML and a signature write in different ways.
STRANGE = "2026/a+b & <c>%20d=e;~'(1)!*@$,#.jpg"
failed = []


def check(name, condition, detail=""):
    if not condition:
        failed.append(name)
    print(f"{'ok' if condition else 'FAILED'}: {name}{f' ({detail})' if detail and not condition else ''}", flush=True)


def attempt(checks, *arguments):
    """Runs checks. An exception counts as a failure, so that the other checks still run."""
    try:
        checks(*arguments)
    except Exception:
        check(f"{checks.__name__} ends without an exception", False, traceback.format_exc())


def photograph(path, seed, width=1600, padding=0):
    """Returns a photograph with padding after its end; without one, the padding is not part of the picture."""
    subprocess.run([demo, "photo", path, "--seed", str(seed), "--width", str(width), "--height", str(width * 3 // 4)],
                   check=True, stdout=subprocess.DEVNULL)
    content = path.read_bytes() + b"\0" * padding
    path.write_bytes(content)
    return content


class Bucket:
    """The bucket of the library, as another program sees it."""

    def __init__(self, endpoint):
        self.client = boto3.client(
            "s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id=KEY, aws_secret_access_key=SECRET,
            config=Config(s3={"addressing_style": "path"}))
        self.client.create_bucket(Bucket=BUCKET)
        self.client.create_bucket(Bucket="small")

    def put(self, path, content):
        self.client.put_object(Bucket=BUCKET, Key=f"{PREFIX}/{path}", Body=content)

    def get(self, path):
        return self.client.get_object(Bucket=BUCKET, Key=f"{PREFIX}/{path}")["Body"].read()

    def delete(self, path):
        self.client.delete_object(Bucket=BUCKET, Key=f"{PREFIX}/{path}")

    def paths(self, below=""):
        """Returns the paths of all objects, without those below 0/, which are not pictures."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{PREFIX}/{below}")
        paths = [item["Key"][len(PREFIX) + 1:] for page in pages for item in page.get("Contents", [])]
        return sorted(path for path in paths if not path.startswith("0/"))

    def trash(self):
        return self.paths(".photod-trash/")


def settings(port, *more):
    return [f"s3.endpoint=http://127.0.0.1:{port}", "s3.pathStyle=true", "remote.allowPrivateAddresses=true", *more]
