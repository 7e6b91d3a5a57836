import ArgumentParser
import LibraryScan

#if canImport(Glibc)
  import Glibc
#endif

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare the catalogue with the library folder, and check its internal consistency.",
    discussion: """
      Prints one line for each difference, with its kind and path, and a summary. Changes nothing; safe while a daemon \
      runs. In a path, \\xHH is a byte that is not printable text, and two backslashes stand for one.

      Exits with 0 if there is no difference, with 1 if there are differences, and with 2 if the check failed.
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let settings = try common.settings()
    let summary: CatalogueCheck.Summary
    var kinds: [String: Int] = [:]
    do {
      summary = try Composition(settings).check().run { difference in
        kinds[difference.kind, default: 0] += 1
        print(difference.line)
      }
    } catch {
      fflush(nil)
      CommandFailure(description: "could not check: \(error)").report()
      throw ExitCode(2)
    }
    let found = kinds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    print(
      "checked \(summary.files) files: "
        + (summary.differences == 0 ? "no difference" : "\(summary.differences) differences (\(found))")
        + (summary.changedDuringCheck ? "; the library changed meanwhile" : ""))
    if summary.differences > 0 { throw ExitCode(1) }
  }
}
