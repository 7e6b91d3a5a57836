import Foundation
import PhotoFixtures
import Testing

@Suite("Memory that renders have used", .blocking)
struct ReleasedMemoryTests {
  @Test("it is returned to the kernel when the renders have ended, whichever threads have used it")
  func released() throws {
    let daemon = try TestDaemon(
      { files in
        let pixels = Scene(seed: 9, grain: 8).pixels(width: 2400, height: 1800)
        // Its coefficients take 13 MB.
        try files.put(JPEGFile { $0.isProgressive = true }.encoded(pixels), "a.jpg")
      }, arguments: ["--set", "render.workers=4", "--set", "cache.backgroundDerivatives=false"])
    let asset = try daemon.identifier("a.jpg")
    let before = try daemon.memory("RssAnon")
    for _ in 0..<3 {
      let clients = WaitingResponses()
      for client in 0..<8 {
        clients.begin(client) {
          try daemon.get(
            "/v1/assets/\(asset)/image?targetSize=\(1000 + client)x1000", ["Cache-Control: no-cache"])
        }
      }
      #expect(try clients.wait().allSatisfy { $0.status == 200 })
    }
    let (peak, whole) = (try daemon.memory("VmHWM"), try daemon.memory("VmRSS") - daemon.memory("RssAnon"))
    #expect(peak - whole > before + 30 << 20, "the renders used less memory than this test is about")
    try daemon.until("the memory is returned") { try daemon.memory("RssAnon") < before + 9 << 20 }
  }
}
