import DurableFiles
import Testing

@Suite("File descriptors")
struct FileDescriptorTests {
  @Test(
    "descriptors run out when almost all below the limit are taken",
    arguments: [
      (3, 1024, false), (900, 1024, false), (1000, 1024, true), (1023, 1024, true), (60_000, UInt.max, false),
    ] as [(Int32, UInt, Bool)])
  func taken(_ lowestFree: Int32, _ limit: UInt, _ areTaken: Bool) {
    #expect(FileDescriptors.areAlmostAllTaken(lowestFree: lowestFree, limit: limit) == areTaken)
  }

  @Test("a process with free descriptors is not short of them")
  func free() { #expect(!FileDescriptors.areExhausted) }
}
