import ArgumentParser

/// Compares the daemon with its peers: interleaved in one run, medians, CPU time.
@main
struct PhotodBench: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "photod-bench", abstract: "Compare photod with its peers.",
    subcommands: [
      RenderBench.self, QualityBench.self, MemoryBench.self, SharedBench.self, AdjustBench.self, LadderBench.self,
      ThumbnailBench.self,
      PlaceholderBench.self, CancelBench.self, ServeBench.self, OriginalsBench.self, AccessBench.self, IdleBench.self,
      SlowBench.self, DiskBench.self, ManagerBench.self, StormBench.self, ScanBench.self, WatchBench.self,
      LibraryBench.self, LibraryReads.self, SearchBench.self, DeltaBench.self, ChangesBench.self, CachingBench.self,
      WindowsBench.self, BatchClient.self, BlankFile.self, PreviewBench.self, PosterBench.self,
    ])

  static func main() {
    SignalCleanup.watch()
    main(nil)
  }
}
