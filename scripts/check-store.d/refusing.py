"""Checks with a store that refuses a key, or is down."""
import json
import subprocess

import boto3

from ceph import KEY, READER, READER_SECRET, SECRET
from common import LIBRARY, NETWORK, check, photod, photograph, settings, work
from daemon import Daemon, arguments, environment, until


def scan(data, port, key):
    return subprocess.run([photod, "scan", *arguments(LIBRARY, data, settings(port))], env=environment(key),
                          capture_output=True, text=True)


def check_wrong_key(bucket, data, port, known):
    objects = bucket.paths()
    for key, advice in (((KEY, "wrong"), "check the secret"), (("nobody", SECRET), "does not know the access key")):
        done = scan(data, port, key)
        check(f"a scan with a wrong key says: {advice}", done.returncode and advice in done.stderr, done.stderr[-600:])
        check("... and shows no secret", SECRET not in done.stderr + done.stdout)
    with Daemon(photod, LIBRARY, data, settings(port), (KEY, "wrong")) as daemon:
        check("a daemon with a wrong secret can't scan", not daemon.scan())
        check("... and loses no asset", daemon.assets().keys() == known)
        asset = next(asset for asset in daemon.assets().values() if asset["isInCloud"] and asset["mediaType"] == "image")
        answer = daemon.image(asset, "targetSize=777x777" + NETWORK)
        check("... and answers 502 for an original", answer.status == 502
              and answer.json["type"] == "/problems/original-fetch-failed", answer)
        answer = daemon.upload(photograph(work / "refused.jpg", 60), "refused.jpg")
        check("... and for an upload", answer.status == 502
              and answer.json["type"] == "/problems/library-store-failed", answer)
        answer = daemon.change(type="deleteAsset", asset=asset["localIdentifier"])
        check("... and for a deletion, which is not made", answer.status == 502
              and daemon.assets().keys() == known, answer)
        check("... and logs what to check", "check the secret" in daemon.logged())
    with Daemon(photod, LIBRARY, data, settings(port), (KEY, SECRET)) as daemon:
        daemon.first_scan()
        check("with the right secret again all is as before",
              daemon.assets().keys() == known and bucket.paths() == objects and daemon.scan())
        answer = daemon.change(type="deleteAsset", asset=asset["localIdentifier"])
        again = daemon.change(type="restoreAsset", asset=asset["localIdentifier"])
        check("... and changes work", answer.status == again.status == 200 and bucket.paths() == objects, f"{answer} {again}")


def check_down(daemon, proxy):
    shown = next(asset for asset in daemon.assets().values() if not asset["isInCloud"] and asset["mediaType"] == "image")
    known = daemon.assets().keys()
    proxy.go_down()
    check("a scan of a store that is down fails, and removes nothing",
          not daemon.scan() and daemon.assets().keys() == known)
    check("... while local pictures are shown", daemon.image(shown, "targetSize=333x333").status == 200)
    proxy.come_back()
    until("a scan succeeds again", daemon.scan)
    check("a scan succeeds when the store is back", daemon.assets().keys() == known)


def check_reader(port, known):
    """A key that may only read serves the library, and changes nothing."""
    with Daemon(photod, LIBRARY, work / "reader", settings(port), (READER, READER_SECRET)) as daemon:
        daemon.first_scan()
        check("a key that may only read serves the library", daemon.assets().keys() == known)
        asset = next(asset for asset in daemon.assets().values() if asset["mediaType"] == "image")
        answer = daemon.image(asset, "targetSize=300x300" + NETWORK)
        check("... and its images", answer.status == 200, answer)
        answer = daemon.upload(photograph(work / "refused.jpg", 61), "refused.jpg")
        check("... and an upload gets 502", answer.status == 502
              and answer.json["type"] == "/problems/library-store-failed", answer)
        answer = daemon.change(type="deleteAsset", asset=asset["localIdentifier"])
        check("... and a deletion too", answer.status == 502 and daemon.assets().keys() == known, answer)
        check("... and the log says what to check", "the store refuses access" in daemon.logged())


def check_session(ceph, known):
    ceph.start_sessions()

    def service(name):
        return boto3.client(name, endpoint_url=f"http://127.0.0.1:{ceph.session_port}", region_name="us-east-1",
                            aws_access_key_id=KEY, aws_secret_access_key=SECRET)
    allowed = {"Version": "2012-10-17",
               "Statement": [{"Effect": "Allow", "Action": "sts:GetSessionToken", "Resource": "*"}]}
    service("iam").put_user_policy(UserName="check", PolicyName="sessions", PolicyDocument=json.dumps(allowed))
    answer = service("sts").get_session_token()["Credentials"]
    key = answer["AccessKeyId"], answer["SecretAccessKey"], answer["SessionToken"]
    with Daemon(photod, LIBRARY, work / "session", settings(ceph.session_port), key) as daemon:
        daemon.first_scan()
        check("a session token serves the library", daemon.assets().keys() == known)
    done = scan(work / "session", ceph.session_port, (*key[:2], "wrong"))
    check("... and a wrong token does not", done.returncode and "reading the remote library failed" in done.stderr,
          done.stderr[-600:])
