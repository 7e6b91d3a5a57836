#if canImport(Glibc)
  import Glibc
#endif

/// The key of an S3 account. Descriptions, dumps and mirrors never show it.
package struct S3Credentials: Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package enum Problem: Error, Sendable, Hashable {
    /// Neither the environment nor a file has them.
    case missing
    /// The file can't be read.
    case unreadable
    /// The profile has a key without its secret, or the reverse.
    case incomplete
    /// A value has a character that no field of HTTP can have.
    case malformed
    /// The file may be read by other users of this machine: chmod it to 600.
    case readableByOthers
  }

  let accessKeyID: String
  let secretAccessKey: String
  /// The session token of temporary credentials.
  let sessionToken: String?

  package init(accessKeyID: String, secretAccessKey: String, sessionToken: String? = nil) {
    (self.accessKeyID, self.secretAccessKey, self.sessionToken) = (accessKeyID, secretAccessKey, sessionToken)
  }

  /// From `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and `AWS_SESSION_TOKEN`.
  package init(environment: [String: String]) throws(Problem) {
    try self.init(
      environment["AWS_ACCESS_KEY_ID"], environment["AWS_SECRET_ACCESS_KEY"], environment["AWS_SESSION_TOKEN"])
  }

  /// From the section `[default]` of a file in the form of `~/.aws/credentials`.
  package init(file path: String) throws(Problem) {
    let text = try Self.text(ofPrivateFile: path)
    var values: [String: String] = [:]
    var section = "default"
    for line in text.split(whereSeparator: \.isNewline) {
      let line = line.drop { $0 == " " || $0 == "\t" }
      if line.hasPrefix("[") {
        section = line.dropFirst().prefix { $0 != "]" }.filter { $0 != " " }
      } else if section == "default", !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") {
        let name = line[..<equals].filter { $0 != " " && $0 != "\t" }
        values[name] = line[line.index(after: equals)...].filter { !$0.isWhitespace }
      }
    }
    try self.init(values["aws_access_key_id"], values["aws_secret_access_key"], values["aws_session_token"])
  }

  /// The text of a file that only its owner may read, of at most 64 KiB.
  private static func text(ofPrivateFile path: String) throws(Problem) -> String {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw .unreadable }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw .unreadable }
    guard status.st_mode & 0o077 == 0 else { throw .readableByOthers }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(descriptor, &bytes, bytes.count)
    guard count >= 0 else { throw .unreadable }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }

  private init(_ key: String?, _ secret: String?, _ token: String?) throws(Problem) {
    func given(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
    switch (given(key), given(secret)) {
    case (nil, nil): throw .missing
    case (let key?, let secret?): self.init(accessKeyID: key, secretAccessKey: secret, sessionToken: given(token))
    default: throw .incomplete
    }
    let all = [accessKeyID, secretAccessKey, sessionToken ?? ""]
    guard all.allSatisfy({ $0.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }) else { throw .malformed }
  }

  package var description: String { "S3 credentials" }
  package var debugDescription: String { description }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
