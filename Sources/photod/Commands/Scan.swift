import ArgumentParser

#if canImport(Glibc)
  import Glibc
#endif

struct Scan: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Update the catalogue from the library, and exit.")

  @OptionGroup var common: CommonOptions

  @Flag(
    help: ArgumentHelp(
      "Remove all missing files from the catalogue, however many.",
      discussion:
        "Without this, a scan removes nothing if more files than scan.maximumRemovalPercent are missing or the "
        + "library is on another disk than at the last scan, and keeps entries of disks below the folder that are not "
        + "mounted."))
  var acceptRemovals = false

  func run() async throws {
    let settings = try common.settings()
    let scanner = try Composition(settings).scanner()
    let display = ScanDisplay(isTerminal: isatty(STDERR_FILENO) == 1)
    do {
      let progress = try scanner.scan(acceptingRemovals: acceptRemovals) { display.show($0) }
      display.finish(progress)
    } catch {
      display.clear()
      throw error
    }
  }
}
