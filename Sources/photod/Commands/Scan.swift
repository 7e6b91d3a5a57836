import ArgumentParser

#if canImport(Glibc)
  import Glibc
#endif

struct Scan: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Bring the catalogue up to date with the library folder, and exit.")

  @OptionGroup var common: CommonOptions

  @Flag(
    help: ArgumentHelp(
      "What is missing is gone: remove it, however much it is.",
      discussion: "Without this a scan removes nothing where the library's disk is not the one of the last scan, and "
        + "keeps what is known of disks below the folder that are not mounted."))
  var acceptRemovals = false

  func run() async throws {
    let settings = try await common.settings()
    let scanner = try Composition(settings).scanner()
    let display = ScanDisplay(isTerminal: isatty(STDERR_FILENO) == 1)
    do {
      let progress = try scanner.scan(acceptingRemovals: acceptRemovals, foreseeing: true) { display.show($0) }
      display.finish(progress)
    } catch {
      display.clear()
      throw error
    }
  }
}
