import ArgumentParser
import LibraryCatalogue
import LibraryScan
import Primitives

#if canImport(Glibc)
  import Glibc
#endif

struct Check: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare the catalogue with the library folder, and check its internal consistency.",
    discussion: """
      Prints one line for each difference, with its kind and path, and a summary. Changes nothing; safe while a daemon \
      runs. In a path, \\xHH is a byte that is not printable text, and two backslashes stand for one.

      After the summary, "not of the disk cache" names each folder that was in the place of a cache entry, and that \
      photod has moved aside. It is not a difference.

      With --repair, if there are differences: copies the catalogue, corrects in it what can be derived from the rest \
      of the catalogue, scans the library, and checks again. If the catalogue has nothing to correct, it is not \
      changed, and no copy stays. Originals are never changed. Stop the daemon first.

      Exits with 0 if there is no difference, with 1 if there are differences, and with 2 if the check or the repair \
      failed.
      """)

  @OptionGroup var common: CommonOptions

  @Flag(help: "Repair the catalogue. A copy of it is made first.")
  var repair = false

  @Flag(
    help: ArgumentHelp(
      "With --repair, remove all assets whose files the catalogue has lost, however many.",
      discussion: "Without this, a repair changes nothing if they are more than scan.maximumRemovalPercent. A scan "
        + "finds the files again as new assets, without favourites, titles and albums."))
  var acceptRemovals = false

  func validate() throws {
    if acceptRemovals && !repair { throw ValidationError("--accept-removals is for --repair only") }
  }

  func run() async throws {
    let composition: Composition
    do {
      let settings = try common.settings()
      // Throws for a remote library, whose files can't be compared.
      _ = try settings.libraryPath()
      composition = try Composition(settings)
    } catch {
      throw Self.failed("check", error)
    }
    var differences: Int
    do {
      differences = try compare(composition)
    } catch  where repair {
      print("could not check: \(error)")
      differences = 1
    } catch {
      throw Self.failed("check", error)
    }
    if repair && differences > 0 {
      do {
        try repair(composition)
        differences = try compare(composition)
      } catch {
        throw Self.failed("repair", error)
      }
    }
    if differences > 0 { throw ExitCode(1) }
  }

  /// Prints the differences, and returns their number.
  private func compare(_ composition: Composition) throws -> Int {
    var kinds: [String: Int] = [:]
    let summary = try composition.check().run { difference in
      kinds[difference.kind, default: 0] += 1
      print(difference.line)
    }
    let found = kinds.sortedByKey.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    print(
      "checked \(Self.text(summary.files, "file")): "
        + (summary.differences == 0 ? "no difference" : "\(Self.text(summary.differences, "difference")) (\(found))")
        + (summary.changedDuringCheck ? "; the library changed meanwhile" : ""))
    for folder in composition.displacedFolders() { print("not of the disk cache: \(folder)") }
    return summary.differences
  }

  private func repair(_ composition: Composition) throws {
    let summary = try composition.repair().run(acceptingRemovals: acceptRemovals)
    if let copy = summary.copy {
      print("the catalogue before the repair is \(copy)")
    } else {
      print("the catalogue has nothing to correct")
    }
    if let copy = summary.copyBeforeLoss { print("the catalogue with its damaged log is \(copy)") }
    for (subject, rows) in summary.corrections.sortedByKey {
      print("repaired \(rows) \(subject)")
    }
    // Finds the files of rows that were removed, and whatever else the folder has.
    _ = try composition.scanner().scan()
  }

  private static func text(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }

  private static func failed(_ step: String, _ error: any Error) -> ExitCode {
    fflush(nil)
    CommandFailure(description: "could not \(step): \(error)").report()
    return ExitCode(2)
  }
}
