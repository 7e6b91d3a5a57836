import ArgumentParser
import HTTPServer

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve the library over HTTP.",
    discussion: "Scans in the background and answers from what is indexed so far. SIGTERM finishes what is under way "
      + "and exits; SIGHUP scans again.")

  @OptionGroup var common: CommonOptions

  @Option(help: "Where to listen: ADDRESS:PORT or unix:PATH. Repeatable. Default: 127.0.0.1:8080.")
  var listen: [String] = []

  @Flag(
    help:
      "Serve anybody who can reach the address, without asking who it is, as long as no token was made (photod token). Without either only this machine is served."
  )
  var allowAnonymous = false

  func run() async throws {
    let settings = try await common.settings([
      "listen": listen.isEmpty ? nil : listen.joined(separator: ","),
      "allowAnonymous": allowAnonymous ? "true" : nil,
    ])
    let daemon = try Composition(settings).daemon()
    try await daemon.run()
  }
}
