import ArgumentParser

#if canImport(Glibc)
  import Glibc
#endif

struct Scan: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Bring the catalogue up to date with the library folder, and exit.")

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let settings = try await common.settings()
    let scanner = try Composition(settings).scanner()
    let display = ScanDisplay(isTerminal: isatty(STDERR_FILENO) == 1)
    let progress = try scanner.scan { display.show($0) }
    display.finish(progress)
  }
}
