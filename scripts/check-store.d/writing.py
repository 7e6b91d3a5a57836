"""Checks of uploads and the trash."""
import hashlib

from ceph import KEY, SECRET
from common import STRANGE, check, photod, photograph, settings, work
from daemon import Daemon, until


def check_uploads(daemon, bucket):
    content = photograph(work / "upload.jpg", 50)
    answer = daemon.upload(content, "upload.jpg")
    check("an upload becomes an object", answer.status == 201 and bucket.get("upload.jpg") == content, answer)
    check("... that is here, and is shown",
          not daemon.assets()["upload.jpg"]["isInCloud"] and daemon.image(answer.json, "targetSize=300x300").status == 200)
    again = daemon.upload(content, "again.jpg")
    check("the same content again is the same asset", again.status == 200 and again.json["relativePath"] == "upload.jpg", again)
    others = bucket.get("replaced.jpg")
    again = daemon.upload(others, "again.jpg")
    check("... and so is that of an object of another program",
          again.status == 200 and again.json["relativePath"] == "replaced.jpg", again)
    other = daemon.upload(photograph(work / "other.jpg", 51), "upload.jpg")
    check("another content of the same name gets the next name",
          other.status == 201 and other.json["relativePath"] == "upload-2.jpg" and bucket.get("upload.jpg") == content, other)
    # photod does not know of this object, so only If-None-Match keeps it.
    bucket.put("unknown.jpg", b"of another program")
    other = daemon.upload(photograph(work / "unknown.jpg", 52), "unknown.jpg")
    check("... also if photod does not know the object yet",
          other.status == 201 and other.json["relativePath"] == "unknown-2.jpg"
          and bucket.get("unknown.jpg") == b"of another program", other)
    bucket.delete("unknown.jpg")
    strange = photograph(work / "strange.jpg", 53)
    answer = daemon.upload(strange, "é+ &%20=;~'(1)!@$,#.jpg")
    check("a name with signs of URLs and XML is stored",
          answer.status == 201 and bucket.get(answer.json["relativePath"]) == strange, answer)
    large = photograph(work / "large.jpg", 54, padding=6_000_000)
    answer = daemon.upload(large, "large.jpg")
    check("a large upload is stored", answer.status == 201
          and hashlib.sha256(bucket.get("large.jpg")).digest() == hashlib.sha256(large).digest(), answer)
    before = daemon.assets()
    daemon.scan()
    check("a scan finds what was uploaded unchanged", before == daemon.assets())


def check_staged(daemon, bucket):
    content = photograph(work / "staged.jpg", 56)
    half = len(content) // 2
    answer = daemon.ask("/v1/uploads?filename=staged.jpg", "POST", content[:half], {"Upload-Length": len(content)})
    upload = f"/v1/uploads/{answer.json['upload']}"
    answer = daemon.ask(upload, "PATCH", content[half:], {
        "Content-Type": "application/partial-upload", "Upload-Offset": half, "Upload-Complete": "?1"})
    check("a staged upload is sent in two requests", answer.status == 204, answer)
    check("... and is not in the bucket yet", "staged.jpg" not in bucket.paths())
    answer = daemon.send("/v1/assets", {"upload": upload.rpartition("/")[2]})
    check("... and becomes an object", answer.status == 201 and bucket.get("staged.jpg") == content, answer)


def check_trash(daemon, bucket):
    """Leaves one file in the trash."""
    for path in ("upload.jpg", STRANGE, "pieces.jpg"):
        before, content = daemon.assets(), bucket.get(path)
        asset = before[path]["localIdentifier"]
        answer = daemon.change(type="deleteAsset", asset=asset)
        check(f"a deletion of {path} moves the object to the trash", answer.status == 200
              and path not in bucket.paths() and [bucket.get(name) for name in bucket.trash()] == [content], answer)
        listed = daemon.ask("/v1/trash").json["assets"]
        check("... and the asset", [item["localIdentifier"] for item in listed] == [asset]
              and path not in daemon.assets(), listed)
        daemon.scan()
        check("... where a scan leaves it", path not in daemon.assets() and len(bucket.trash()) == 1)
        answer = daemon.change(type="restoreAsset", asset=asset)
        check("a restoration brings both back", answer.status == 200 and bucket.get(path) == content
              and bucket.trash() == [] and daemon.assets().keys() == before.keys(), answer)
        daemon.scan()
        after = daemon.assets()[path]
        same = all(after[name] == before[path][name] for name in ("localIdentifier", "contentVersion"))
        check("... as the same asset and version", same, f"{before[path]} {after}")
        check("... with its original", daemon.original(after).body == content)
    daemon.change(type="deleteAsset", asset=daemon.assets()["large.jpg"]["localIdentifier"])
    check("an asset is in the trash", len(bucket.trash()) == 1)


def check_emptied(daemon, bucket):
    until("the trash is empty", lambda: bucket.trash() == [])
    check("the trash is emptied after its time", daemon.ask("/v1/trash").json["assets"] == [])
    check("... and nothing else", set(daemon.assets()) <= set(bucket.paths()))


def check_versions(bucket, port):
    """In a bucket with versions a deletion only hides an object, from photod too."""
    client, versioned = bucket.client, {"Bucket": "versioned"}
    client.create_bucket(**versioned)
    client.put_bucket_versioning(**versioned, VersioningConfiguration={"Status": "Enabled"})
    client.put_object(**versioned, Key="a.jpg", Body=photograph(work / "a.jpg", 57))
    with Daemon(photod, "s3://versioned", work / "versioned", settings(port), (KEY, SECRET)) as daemon:
        daemon.first_scan()
        before = daemon.assets()
        asset = before["a.jpg"]["localIdentifier"]
        deleted = daemon.change(type="deleteAsset", asset=asset)
        check("a deletion works in a bucket with versions", deleted.status == 200 and daemon.scan()
              and daemon.assets() == {}, deleted)
        restored = daemon.change(type="restoreAsset", asset=asset)
        after = daemon.assets() if daemon.scan() else {}
        check("... and a restoration", restored.status == 200 and "a.jpg" in after
              and after["a.jpg"]["contentVersion"] == before["a.jpg"]["contentVersion"], restored)
