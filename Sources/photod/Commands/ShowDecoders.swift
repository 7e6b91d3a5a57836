import ArgumentParser
import DecoderWorkers
import Foundation

/// Starts each decoder program as the daemon does, and prints its report.
struct ShowDecoders: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "decoders",
    abstract: "Test the decoder and encoder programs; print the library and the sandbox of each.",
    discussion: """
      Each line has a codec, the version of its library and the parts of the sandbox that this kernel lacks, or the \
      reason why the codec can't be used. The exit status is 1 if a codec can't be used.
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let decoders = Decoders(try common.settings())
    let reports = decoders.pool.start()
    for report in reports { print("\(report.codec.name)\t\(report.summary)") }
    decoders.pool.end()
    let areReady = reports.allSatisfy { if case .ready = $0.state { true } else { false } }
    if !areReady { throw ExitCode.failure }
  }

  /// The lines of `photod --version`: the programs that are installed, without starting them.
  static var installed: String {
    DecoderCodec.all.map { codec in
      let path = "\(Decoders.programFolder)/\(codec.programName)"
      // photod-decoder-webp: decoder webp.
      let name = codec.programName.dropFirst("photod-".count).replacing("-", with: " ")
      return FileManager.default.isExecutableFile(atPath: path)
        ? "\(name)" : "\(name) missing: \(codec.programName) was not built or installed"
    }.joined(separator: "\n")
  }
}
