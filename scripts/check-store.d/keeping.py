"""Checks of originals to keep and of shared derivatives."""
from common import LIBRARY, NETWORK, check, photod, photograph, work
from daemon import Daemon, until


def check_kept(daemon, bucket):
    asset = next(asset for asset in daemon.assets().values() if asset["isInCloud"] and asset["mediaType"] == "image")
    path = f"/v1/assets/{asset['localIdentifier']}"
    answer = daemon.send(f"{path}/keepOriginal", {"keep": True}, "PUT")
    check("keepOriginal is accepted", answer.status == 204, answer)
    until("the original is here", lambda: not daemon.ask(path).json["isInCloud"])
    check("... and the original is downloaded", daemon.metric("photod_kept_originals", state="local") == 1)
    check("... whole", daemon.original(asset).body == bucket.get(asset["relativePath"]))


def check_derivatives(first, bucket, shared, key):
    # Smaller pictures have no derivatives.
    grid = [path for path, asset in first.assets().items() if asset["mediaType"] == "image"
            and min(asset["pixelWidth"], asset["pixelHeight"]) >= 500 and path.endswith(".jpg")]
    cell = "targetSize=200x200&contentMode=aspectFill"
    for path in grid:
        first.image(first.assets()[path], cell + NETWORK)
    # After a scan that finds something, missing derivatives are made of what is here.
    bucket.put("new.jpg", photograph(work / "new.jpg", 55))
    first.scan()

    def objects():
        return bucket.client.list_objects_v2(Bucket="small", Prefix="d/")["KeyCount"]
    until("the derivatives are written", lambda: objects() >= len(grid))
    with Daemon(photod, LIBRARY, work / "second", shared, key) as second:
        second.first_scan()
        wrong = []
        for path in grid:
            answer = second.image(second.assets()[path], cell)
            if answer.status != 200 or "degraded=?0" not in answer.result or "source=derivative" not in answer.result:
                wrong.append(f"{path}: {answer}")
        check(f"a second daemon serves a grid of {len(grid)} from shared derivatives", grid and not wrong, wrong)
        check("... without a download", second.metric("photod_downloads_ended_total") == 0)
