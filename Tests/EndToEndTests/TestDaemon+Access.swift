import Foundation
import GRDB
import PhotoFixtures
import Testing

#if canImport(Glibc)
  import Glibc
#endif

extension TestDaemon {
  /// Runs `photod token` on its data folder.
  func token(_ arguments: [String]) throws -> String {
    let run = try Self.run(["token", arguments[0], "--library", library, "--data", data] + arguments.dropFirst())
    try #require(run.status == 0, "\(run.error)")
    return run.output.trimmingCharacters(in: .newlines)
  }

  /// Creates a token and waits until the daemon accepts it; it checks for new tokens once a second.
  func makeToken(_ scopes: String = "read", _ arguments: [String] = []) throws -> String {
    let secret = try token(["create", "--scope", scopes] + arguments)
    try until("the token is known") { try authorization(secret)["status"] as? String != "denied" }
    return secret
  }

  func authorization(_ secret: String) throws -> [String: Any] {
    try get("/v1/authorization", [Self.bearer(secret)]).json
  }

  static func bearer(_ secret: String) -> String { "Authorization: Bearer \(secret)" }

  /// Polls until the condition holds, for two minutes at most. Pauses grow to 50 ms, to leave the processors to the
  /// daemon.
  func until(_ what: String, _ isSo: () throws -> Bool) throws { try Self.until(what, isSo) }

  static func until(_ what: String, _ isSo: () throws -> Bool) throws {
    try eventually(what, longestPause: 50_000, isSo)
  }

  /// The argument `launcher` of a daemon whose log is kept beside its library: see ``log``.
  ///
  /// - Parameter program: runs the daemon; empty for the shell itself.
  static func loggingLauncher(_ program: String = "") -> String { "exec \(program) \"$@\" 2>>\"$4.log\"" }

  /// The lines of the log so far.
  var log: [Substring] {
    ((try? String(contentsOfFile: library + ".log", encoding: .utf8)) ?? "").split(separator: "\n")
  }

  /// Changes a database of the data folder as another process would, in one transaction.
  func script(_ database: String, _ statements: String) throws {
    var configuration = Configuration()
    configuration.busyMode = .timeout(20)
    let queue = try DatabaseQueue(path: "\(data)/\(database)", configuration: configuration)
    defer { try? queue.close() }
    try queue.write { try $0.execute(sql: statements) }
  }

  /// An album of these assets.
  func makeAlbum(_ identifier: String, title: String, _ paths: [String]) throws {
    let number = 1000 + Int.random(in: 0..<1_000_000)
    var statements = """
      INSERT INTO collection (id, localIdentifier, type, subtype, title, revision)
      VALUES (\(number), '\(identifier)', 'album', 'albumRegular', '\(title)', 1);
      """
    for (i, path) in paths.enumerated() {
      statements += """
        INSERT INTO member SELECT \(number), \(i), id, creationDate, listing FROM asset
        WHERE localIdentifier = '\(try self.identifier(path))';
        """
    }
    try script("catalogue.sqlite", statements)
  }

  /// A request with a body and any method.
  func ask(_ method: String, _ target: String, _ fields: [String] = [], body: String? = nil) throws -> Response {
    var request = "\(method) \(target) HTTP/1.1\r\nConnection: close\r\n"
    if !fields.contains(where: { $0.hasPrefix("Host:") }) { request += "Host: localhost\r\n" }
    if let body { request += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
    for field in fields { request += field + "\r\n" }
    return try Self.parsed(send(request + "\r\n" + (body ?? "")), isHead: method == "HEAD")
  }
}
