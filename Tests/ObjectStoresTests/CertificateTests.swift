import Foundation
import Testing

@testable import ObjectStores

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct CertificateTests {
  private static let openssl = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test(.enabled(if: openssl != nil, "openssl is not installed"))
  func `No request is sent to a server with an untrusted certificate`() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("certificate-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func start(_ arguments: [String], _ output: Pipe) throws -> Process {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: try required(Self.openssl))
      process.arguments = arguments
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
      return process
    }
    let (key, certificate) = ("\(folder.path)/key", "\(folder.path)/certificate")
    let request = try start(
      [
        "req", "-x509", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
        key,
        "-out", certificate, "-subj", "/CN=localhost",
      ], Pipe())
    request.waitUntilExit()
    let output = Pipe()
    let server = try start(["s_server", "-accept", "127.0.0.1:0", "-key", key, "-cert", certificate, "-www"], output)
    defer {
      kill(server.processIdentifier, SIGKILL)
      server.waitUntilExit()
    }
    // "ACCEPT 127.0.0.1:PORT"
    var text = ""
    while !text.contains("ACCEPT 127.0.0.1:") || !text.hasSuffix("\n") {
      let bytes = output.fileHandleForReading.availableData
      guard !bytes.isEmpty else { throw Missing() }
      text += String(decoding: bytes, as: UTF8.self)
    }
    let port = text.components(separatedBy: "127.0.0.1:")[1].prefix { $0.isNumber }
    let store = try required(HTTPObjectStore(address: "https://localhost:\(port)", rules: .loopback))
    #expect(throws: ObjectStoreError.unreachable(.tls)) { try store.waitForHead("a.jpg") }
  }
}
