import Foundation

extension TestDaemon {
  /// Runs a command as a shell does: `exec "$@" >/dev/full`. What it prints is not kept.
  static func run(_ arguments: [String], inShell script: String) throws -> (status: Int32, error: String) {
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", script, "sh", binary] + arguments
    process.environment = environment
    let error = Pipe()
    process.standardOutput = FileHandle.nullDevice
    process.standardError = error
    try process.run()
    let complaint = String(decoding: error.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, complaint)
  }
}
