// hummingbird-bench PORT FILE

import Foundation
import Hummingbird
import Logging

@main
struct Serve {
  static func main() async throws {
    let port = Int(CommandLine.arguments[1]) ?? 8080
    let body = ByteBuffer(bytes: try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[2])))
    let router = Router()
    router.get("x.jpg") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "image/jpeg", .eTag: "\"x\"", .cacheControl: "private, max-age=0"],
        body: ResponseBody(byteBuffer: body))
    }
    var logger = Logger(label: "hummingbird")
    logger.logLevel = .error
    let application = Application(
      router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
      logger: logger)
    try await application.runService()
  }
}
