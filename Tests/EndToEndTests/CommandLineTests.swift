import Foundation
import PhotoFixtures
import Testing

/// `photod ls` and `photod get`, which scripts use.
@Suite("Commands for scripts", .blocking)
struct CommandLineTests {
  private static let plain = JPEGFile { _ in }.encoded(Pixels.orientationCard(width: 32, height: 24))
  private static let located = JPEGFile {
    $0.exif = EXIFBlock {
      $0.dateTimeOriginal = "2024:05:06 08:30:00"
      ($0.latitude, $0.longitude) = (52.5, 13.4)
    }
  }.encoded(Pixels.orientationCard(width: 40, height: 24))

  private static func daemon() throws -> TestDaemon {
    try TestDaemon {
      try $0.put(plain, "a/plain.jpg")
      try $0.put(located, "located.jpg")
      try $0.put(plain + [0], "tab\there.jpg")
    }
  }

  private static func run(_ daemon: TestDaemon, _ arguments: String...) throws -> (
    status: Int32, output: String, error: String
  ) {
    try TestDaemon.run(arguments + ["--library", daemon.library, "--data", daemon.data])
  }

  /// Throws the reason if the file can't be read.
  private static func content(_ path: String) throws -> [UInt8] { try Array(Data(contentsOf: URL(filePath: path))) }

  @Test("ls prints a line for each asset, by predicate, search, order and limit, also as JSON")
  func list() throws {
    let daemon = try Self.daemon()
    func paths(_ arguments: String...) throws -> [String] {
      let run = try TestDaemon.run(["ls"] + arguments + ["--library", daemon.library, "--data", daemon.data])
      #expect(run.status == 0, "\(run.error)")
      return run.output.split(separator: "\n").map { String($0.split(separator: "\t").last ?? "") }
    }
    #expect(try paths("--sort", "originalFilename") == ["located.jpg", "a/plain.jpg", #"tab\x09here.jpg"#])
    #expect(try paths("pixelWidth == 40") == ["located.jpg"])
    #expect(try paths("--search", "plain") == ["a/plain.jpg"])
    #expect(try paths("--sort", "-originalFilename", "--limit", "1") == [#"tab\x09here.jpg"#])
    let line = try Self.run(daemon, "ls", "pixelWidth == 40").output
    let identifier = try daemon.identifier("located.jpg")
    #expect(line == "\(identifier)\t2024-05-06T08:30:00Z\tpublic.jpeg\t\(Self.located.count)\tlocated.jpg\n")
    let json = try Self.run(daemon, "ls", "pixelWidth == 40", "--json").output
    let object = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    #expect(object["localIdentifier"] as? String == identifier && object["pixelWidth"] as? Int == 40)
    #expect(object["relativePath"] as? String == "located.jpg" && object["fileSize"] as? Int == Self.located.count)
    let bad = try Self.run(daemon, "ls", "pixelWidth ==")
    #expect(bad.status != 0 && bad.output.isEmpty && !bad.error.isEmpty)
  }

  @Test("get copies a file without its places, or as it is; a failure leaves the output as it was")
  func get() throws {
    let daemon = try Self.daemon()
    let identifier = try daemon.identifier("located.jpg")
    let output = daemon.data + "/copy.jpg"
    #expect(try Self.run(daemon, "get", identifier, "-o", output).status == 0)
    let removed = try Self.content(output)
    #expect(removed.count == Self.located.count && removed != Self.located)
    #expect(try removed == daemon.get("/v1/assets/\(identifier)/data").body)
    #expect(try Self.run(daemon, "get", identifier, "-o", output, "--include-location").status == 0)
    #expect(try Self.content(output) == Self.located)
    let none = try Self.run(daemon, "get", "none", "-o", output)
    #expect(none.status != 0 && none.error.contains("none"))
    try Data([1, 2, 3]).write(to: URL(filePath: daemon.library + "/located.jpg"))
    let changed = try Self.run(daemon, "get", identifier, "-o", output)
    #expect(changed.status != 0 && changed.error.contains("located.jpg"))
    #expect(try Self.content(output) == Self.located)
    let names = try FileManager.default.contentsOfDirectory(atPath: daemon.data)
    #expect(!names.contains { $0.hasSuffix(".part") })
  }
}
