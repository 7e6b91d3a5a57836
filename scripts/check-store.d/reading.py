"""Checks of scans, images, downloads, and objects that other programs change."""
from boto3.s3.transfer import TransferConfig

from common import BUCKET, NETWORK, PREFIX, check, photograph, work
from daemon import parts


def facts(asset):
    """What a scan finds in a file in every place: without its modification time and the catalogue's random values."""
    names = ("mediaType", "pixelWidth", "pixelHeight", "duration", "fileSize", "uniformTypeIdentifier", "mediaSubtypes",
             "representsBurst", "originalFilename", "location")
    found = {name: asset.get(name) for name in names}
    if asset["creationDate"] != asset["fileModificationDate"]:
        found["creationDate"] = asset["creationDate"]
    return found


def check_scan(daemon, reference, proxy, size):
    found, expected = daemon.assets(), reference.assets()
    check("a scan finds the assets that a scan of the folder finds", found.keys() == expected.keys(),
          f"only in one of them: {found.keys() ^ expected.keys()}")
    different = [f"{facts(found[path])} {facts(expected[path])}" for path in found.keys() & expected.keys()
                 if facts(found[path]) != facts(expected[path])]
    check("... with the same dimensions, dates, kinds and sizes", not different, different)
    check("... and all are in the cloud", all(asset["isInCloud"] for asset in found.values()))
    check(f"... from {proxy.received / 1000:.0f} KB of {size / 1000:.0f} KB", proxy.received < size / 2)


def check_images(daemon, reference):
    assets, local = daemon.assets(), reference.assets()
    pictures = [path for path, asset in assets.items() if asset["mediaType"] == "image"]
    wrong = []
    for path in pictures:
        answer = daemon.image(assets[path], "targetSize=400x400")
        degraded = answer.status == 200 and "degraded=?1" in answer.result and answer.headers["ETag"] is None
        missing = answer.status == 404 and answer.json["type"] == "/problems/image-is-in-cloud"
        if not (degraded or missing) or "in-cloud=?1" not in answer.result:
            wrong.append(f"{path}: {answer}")
    check("without network access an image is degraded or a problem, with in-cloud=?1", not wrong, wrong)
    check("... and nothing is downloaded", daemon.metric("photod_downloads_ended_total") == 0)
    wrong = []
    for path in pictures:
        answer = daemon.image(assets[path], "targetSize=300x300" + NETWORK)
        # Rendered from the original, not from a derivative that was made in the background.
        same = reference.image(local[path], "targetSize=300x300", {"Cache-Control": "no-cache"})
        if answer.status != 200 or "degraded=?0, in-cloud=?0" not in answer.result or answer.body != same.body:
            wrong.append(f"{path}: {answer}")
    check(f"with network access all {len(pictures)} images are those of the folder", not wrong, wrong)
    wrong = []
    for path, asset in assets.items():
        answer = daemon.original(asset)
        if answer.status != 200 or answer.body != reference.original(local[path]).body:
            wrong.append(f"{path}: {answer}")
    check(f"all {len(assets)} originals are those of the folder, byte by byte", not wrong, wrong)


def check_progress(daemon, bucket, proxy):
    content = photograph(work / "slow.jpg", 40, padding=900_000)
    bucket.put("slow.jpg", content)
    daemon.scan()
    asset = daemon.assets()["slow.jpg"]
    proxy.bytes_per_second, proxy.break_after = 500_000, 600_000
    answer = daemon.image(asset, "targetSize=900x900&deliveryMode=opportunistic&multipart=mixed" + NETWORK)
    proxy.bytes_per_second = None
    found = parts(answer)
    progress = [body for kind, _, body in found if kind == "application/json"]
    check("an opportunistic delivery has progress parts", len(progress) > 1 and progress == sorted(progress), progress)
    kind, result, body = found[-1]
    check("... and ends with the final frame", kind == "image/jpeg" and "degraded=?0, in-cloud=?0" in result,
          f"{kind} {result} {body[:300]}")
    check("... although the connection broke, with a range for the rest", proxy.break_after is None)
    proxy.break_after = None
    check("... of an original that is complete", daemon.original(asset).body == content)


def check_pieces(daemon, bucket):
    """An object that was written in pieces has an entity tag that is not an MD5."""
    content = photograph(work / "pieces.jpg", 41, padding=11_000_000)
    bucket.client.upload_file(str(work / "pieces.jpg"), BUCKET, f"{PREFIX}/pieces.jpg",
                              Config=TransferConfig(multipart_threshold=5 << 20, multipart_chunksize=5 << 20))
    tag = bucket.client.head_object(Bucket=BUCKET, Key=f"{PREFIX}/pieces.jpg")["ETag"]
    daemon.scan()
    answer = daemon.original(daemon.assets()["pieces.jpg"])
    check("an object that was put in pieces is read", "-3" in tag and answer.body == content, f"{tag} {answer.status}")


def check_changes_of_others(daemon, bucket):
    path = "replaced.jpg"
    first = photograph(work / path, 42, padding=1000)
    second = photograph(work / path, 43)
    second += b"\0" * (len(first) - len(second)) if len(second) < len(first) else b""
    first += b"\0" * (len(second) - len(first))
    bucket.put(path, first)
    bucket.put("deleted.jpg", photograph(work / "deleted.jpg", 44))
    daemon.scan()
    before = daemon.assets()
    bucket.put(path, second)
    early = daemon.image(before[path], "targetSize=500x500" + NETWORK)
    check("an object that was replaced after the scan is not shown as the earlier one",
          early.status == 503 and early.json["type"] == "/problems/original-changed", early)
    bucket.delete("deleted.jpg")
    gone = daemon.image(before["deleted.jpg"], "targetSize=500x500" + NETWORK)
    check("... nor one that was deleted", gone.status == 404 and gone.json["type"] == "/problems/original-missing", gone)
    daemon.scan()
    after = daemon.assets()
    check("the next scan finds the new version of the same size by its ETag",
          after[path]["localIdentifier"] == before[path]["localIdentifier"]
          and after[path]["contentVersion"] != before[path]["contentVersion"])
    check("... and shows it", daemon.original(after[path]).body == second)
    check("... and removes the deleted one, and no other", before.keys() - after.keys() == {"deleted.jpg"},
          before.keys() ^ after.keys())
    daemon.scan()
    versions = {name: asset["contentVersion"] for name, asset in after.items()}
    check("a scan without changes changes nothing",
          versions == {name: asset["contentVersion"] for name, asset in daemon.assets().items()})
