import Dispatch
import Foundation

/// Runs a program to its end.
///
/// - Parameters:
///   - program: its path.
///   - input: its standard input; by default, this process's.
///   - environment: by default, this process's.
/// - Returns: its exit status, or as in shells 128 plus the number of the signal that ended it; and its outputs.
package func runToEnd(
  _ program: String, _ arguments: [String], input: [UInt8]? = nil, environment: [String: String]? = nil
) throws -> (status: Int32, output: [UInt8], error: String) {
  let process = Process()
  process.executableURL = URL(filePath: program)
  process.arguments = arguments
  if let environment { process.environment = environment }
  let output = Pipe()
  process.standardOutput = output
  // A file, because with a second pipe the program could block on it while the first one is read.
  let errors = FileManager.default.temporaryDirectory.appending(path: "photod-errors-\(UUID().uuidString)")
  try Data().write(to: errors)
  defer { try? FileManager.default.removeItem(at: errors) }
  process.standardError = try FileHandle(forWritingTo: errors)
  let source = Pipe()
  if input != nil { process.standardInput = source }
  try process.run()
  if let input {
    DispatchQueue.global().async {
      try? source.fileHandleForWriting.write(contentsOf: Data(input))
      try? source.fileHandleForWriting.close()
    }
  }
  let printed = [UInt8](output.fileHandleForReading.readDataToEndOfFile())
  process.waitUntilExit()
  let status = process.terminationStatus
  return (
    process.terminationReason == .exit ? status : 128 + status, printed,
    String(decoding: try Data(contentsOf: errors), as: UTF8.self)
  )
}
