import ArgumentParser
import HTTPServer

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve the library over HTTP.",
    discussion: "Scans in the background and serves all files indexed so far. SIGTERM finishes active requests "
      + "and exits; SIGHUP starts a scan.")

  @OptionGroup var common: CommonOptions

  @Option(help: "The address to listen on: ADDRESS:PORT or unix:PATH. Repeatable. Default: 127.0.0.1:8080.")
  var listen: [String] = []

  @Flag(
    help:
      """
      Serve requests from other machines without a token, as long as no token was made (photod token). Without this \
      option and without tokens, only this machine is served.
      """
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
