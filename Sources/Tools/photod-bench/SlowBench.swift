// Deliberately slow clients, and their effect on another client.

import ArgumentParser
import Foundation

struct SlowBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "slow", abstract: "A healthy client during the three attacks of slowhttptest.")

  @Option(help: "Slow connections; the daemon allows 1024 per address.")
  var connections = 1000

  @Option(help: "Seconds per mode.")
  var seconds = 20

  @Option(help: "The daemon's binary.")
  var photod = ".build/release/photod"

  func run() throws { try TemporaryFolder.with(measure) }

  private func measure(in folder: String) throws {
    let library = try TemporaryFolder.library(in: folder, width: 4000, height: 3000)
    let daemon = try DaemonUnderTest(binary: photod, library: library, data: folder + "/data")
    let image = "\(daemon.url)/v1/assets/\(try daemon.onlyAsset())/image"
    let large = image + "?targetSize=max&format=jpeg&quality=95"
    try Command(["curl", "-fsS", "-o", "/dev/null", large]).run()
    let common = ["-c", "\(connections)", "-r", "500", "-l", "\(seconds)", "-p", "1"]
    let modes =
      [
        ("none", []),
        ("slow head (-H)", ["slowhttptest", "-H", "-i", "5", "-u", daemon.url + "/healthz"] + common),
        ("slow body (-B)", ["slowhttptest", "-B", "-i", "5", "-s", "8192", "-u", daemon.url + "/v1/assets"] + common),
        (
          "slow read (-X)",
          ["slowhttptest", "-X", "-n", "5", "-z", "32", "-w", "512", "-y", "1024", "-u", large] + common
        ),
      ] as [(String, [String])]
    print(
      "\(connections) slow connections for \(seconds) s; a healthy client requests a new thumbnail and a cached one in turn\n"
    )
    print("| attack | requests | failed | median ms | worst ms | daemon's CPU s | resident MiB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (name, arguments) in modes {
      let attack = Process()
      if !arguments.isEmpty {
        attack.executableURL = URL(filePath: "/usr/bin/env")
        attack.arguments = arguments
        attack.currentDirectoryURL = URL(filePath: folder)
        attack.standardOutput = FileHandle.nullDevice
        attack.standardError = FileHandle.nullDevice
        try attack.run()
      }
      var times: [Double] = []
      var failed = 0
      let cpu = try daemon.cpuSeconds {
        let end = ContinuousClock.now + .seconds(arguments.isEmpty ? 5 : seconds)
        var side = 100
        while ContinuousClock.now < end {
          side = side == 300 ? 100 : side + 1
          for target in ["?targetSize=\(side)x\(side)", "?targetSize=100x100"] {
            let began = ContinuousClock.now
            do { try Command(["curl", "-fsS", "-m", "10", "-o", "/dev/null", image + target]).run() } catch {
              failed += 1
            }
            times.append(Double((ContinuousClock.now - began) / .microseconds(1)) / 1000)
          }
          usleep(50_000)
        }
      }
      let resident = try ProcessUsage.residentBytes(of: daemon.identifier) >> 20
      if !arguments.isEmpty { attack.waitUntilExit() }
      times.sort()
      let row = [times[times.count / 2], times[times.count - 1]].map { String(Int($0.rounded())) }.joined(
        separator: " | ")
      print("| \(name) | \(times.count) | \(failed) | \(row) | \((cpu * 10).rounded() / 10) | \(resident) |")
    }
  }
}
