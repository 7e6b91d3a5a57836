import ArgumentParser
import AssetLibrary

#if canImport(Glibc)
  import Glibc
#endif

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare the catalogue with the library folder, and with itself.",
    discussion: """
      Prints each difference as one line, its kind and its path, and a summary. Reads only, also while a daemon serves. In \
      a path, \\xHH is a byte that is no visible text, and two backslashes are one.

      Exits with 0 where nothing differs, 1 where something does, 2 where it could not be checked.
      """)

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let settings = try await common.settings()
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
        + (summary.changedMeanwhile ? "; the library changed meanwhile" : ""))
    if summary.differences > 0 { throw ExitCode(1) }
  }
}
