import ArgumentParser

#if canImport(Glibc)
  import Glibc
#endif

struct Serve: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Serve the library over HTTP.",
    discussion: "Scans in the background and serves all files indexed so far. SIGTERM finishes active requests "
      + "and exits; SIGHUP reads the settings again.")

  @OptionGroup var common: CommonOptions

  @Option(
    help:
      """
      The address to listen on: ADDRESS:PORT or unix:PATH. Repeatable. \
      Default: \(Settings.defaults.listen.joined(separator: ", ")).
      """
  )
  var listen: [String] = []

  @Flag(
    help:
      """
      Serve requests from other machines without a token, until the first token is created (photod token create). \
      Without this option and without tokens, photod serves this machine only.
      """
  )
  var allowAnonymous = false

  @Flag(help: "Print a settings file with the values in force from all sources, and exit.")
  var printConfig = false

  func run() async throws {
    let options: [String: String?] = [
      "listen": listen.isEmpty ? nil : listen.joined(separator: ","),
      "allowAnonymous": allowAnonymous ? "true" : nil,
    ]
    // Ignored until the daemon handles it, because the default action would end the process. This comes before the
    // settings are read, so that they include the change that an ignored signal announces.
    signal(SIGHUP, SIG_IGN)
    let settings = try common.settings(options)
    if printConfig { return print(SettingsDocuments.values(settings)) }
    let daemon = try Composition(settings).daemon(reloading: common.loader(options))
    try await daemon.run()
  }
}
