// Cost of authentication for a cached frame: without tokens, and with each kind of credential.
//
// All contestants request the same frame in turn, in one run, as in `serve`. A request with a token is longer, so a
// request without a token but with an equally long other field is a contestant too: the remaining difference is the
// authentication.

import ArgumentParser
import Foundation

struct AccessBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "access",
    abstract: "CPU of a cached frame without a token, with a full and a limited one, and signed in.")

  @Option(help: "Turns of each contestant.")
  var rounds = 7

  @Option(help: "Seconds per turn.")
  var seconds = 3

  @Option(help: "Connections.")
  var connections = 64

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder, width: 1600, height: 1200)
    let unlimited = ["http.requestsPerConnection=1000000000", "accessLog=false"]
    let open = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/open", prefix: ServeBench.serverCore, settings: unlimited)
    let guarded = try DaemonUnderTest(
      binary: photod, library: library, data: folder + "/guarded", prefix: ServeBench.serverCore, settings: unlimited)
    let image = "image?targetSize=400x400&format=jpeg"
    let openURL = "\(open.url)/v1/assets/\(try open.onlyAsset())/\(image)"
    let path = "/v1/assets/\(try guarded.onlyAsset())/\(image)"
    let credentials = try credentials(of: guarded, data: folder + "/guarded", library: library, path: path)
    let padding = String(
      repeating: "x", count: credentials.full.utf8.count + "Authorization: Bearer ".count - "X-Padding: ".count)
    let guardedURL = guarded.url + path
    let contestants = [
      LoadedContestant(name: "no tokens", url: openURL, process: open.identifier),
      LoadedContestant(
        name: "no tokens, same length", url: openURL, fields: ["X-Padding: \(padding)"], process: open.identifier),
      LoadedContestant(
        name: "a token for everything", url: guardedURL, fields: ["Authorization: Bearer \(credentials.full)"],
        process: guarded.identifier),
      LoadedContestant(
        name: "a token limited to an album", url: guardedURL, fields: ["Authorization: Bearer \(credentials.limited)"],
        process: guarded.identifier),
      LoadedContestant(
        name: "a session of the limited token", url: guardedURL, fields: ["Cookie: \(credentials.cookie)"],
        process: guarded.identifier),
      LoadedContestant(name: "a signed URL", url: guarded.url + credentials.signed, process: guarded.identifier),
    ]
    for contestant in contestants { for _ in 0..<2 { try contestant.check() } }
    let load = WrkLoad(connections: connections, seconds: seconds)
    var samples = [[Double]](repeating: [], count: contestants.count)
    for round in 0...rounds {
      for (i, contestant) in contestants.enumerated() {
        let turn = try load.measure(
          contestant.url, fields: contestant.fields, process: contestant.process, name: contestant.name)
        // The first round warms caches and is not counted.
        if round > 0 { samples[i].append(turn.cpuMicroseconds) }
      }
    }
    print(
      "wrk -t1 -c\(connections) -d\(seconds)s on core 1, the daemons on core 0, \(rounds) rounds in turn, medians\n")
    print("| a cached frame with | CPU us a request | min | max | to no tokens |")
    print("| --- | ---: | ---: | ---: | ---: |")
    let anchor = samples[0].median ?? 1
    for (contestant, cpu) in zip(contestants, samples) {
      let median = cpu.median ?? 0
      let row = [median, cpu.min() ?? 0, cpu.max() ?? 0, median / anchor].map { $0.text() }.joined(separator: " | ")
      print("| \(contestant.name) | \(row) |")
    }
    _ = (open, guarded)
  }

  private struct Credentials {
    let full: String
    let limited: String
    let cookie: String
    let signed: String
  }

  /// The credentials of each kind of caller. The frame's asset is in an album.
  private func credentials(
    of daemon: DaemonUnderTest, data: String, library: String, path: String
  ) throws -> Credentials {
    // From another process, because no caller may create an album over HTTP here.
    try Command([
      "python3", "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1], timeout=20).executescript(sys.argv[2])",
      data + "/catalogue.sqlite",
      """
      INSERT INTO collection (id, localIdentifier, type, subtype, title, revision)
      VALUES (1000, 'album', 'album', 'albumRegular', 'Album', 1);
      INSERT INTO member SELECT 1000, 0, id, creationDate, listing FROM asset;
      """,
    ]).run()
    func token(_ arguments: [String]) throws -> String {
      try Command([photod, "token"] + arguments + ["--library", library, "--data", data]).text().trimmed
    }
    let full = try token(["create"])
    let signed = try token(["sign", path])
    let limited = try token(["create", "--limit-to", "album"])
    // The daemon checks for commits of other processes once a second.
    try Command([
      "curl", "-fsS", "--retry", "20", "--retry-delay", "1", "--retry-all-errors", "-o", "/dev/null", "-H",
      "Authorization: Bearer \(limited)", daemon.url + path,
    ]).run()
    let head = try Command([
      "curl", "-fsS", "-o", "/dev/null", "-D", "-", "-H", "Content-Type: application/json", "-d",
      "{\"token\": \"\(limited)\"}", daemon.url + "/v1/session",
    ]).text()
    guard let cookie = head.firstMatch(of: /Set-Cookie: ([^;]+);/)?.1 else {
      throw BenchError(description: "the sign-in failed: \(head)")
    }
    return Credentials(full: full, limited: limited, cookie: String(cookie), signed: signed)
  }
}

/// A contestant: its requests have their own credentials.
private struct LoadedContestant {
  let name: String
  let url: String
  var fields: [String] = []
  let process: Int32

  /// Throws unless the response is the picture.
  func check() throws {
    try Command(["curl", "-fsS", "-o", "/dev/null"] + fields.flatMap { ["-H", $0] } + [url]).run()
  }
}

extension String {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
