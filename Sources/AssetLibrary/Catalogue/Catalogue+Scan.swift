// What a scan reads from the catalogue and writes to it.

import Crypto
import Foundation
import GRDB
import PhotoModel

/// A file as the catalogue knows it.
struct KnownFile: Sendable {
  let id: Int64
  let path: [UInt8]
  let identity: FileIdentity
}

extension FileIdentity {
  /// What no file is: a row with it is looked at again by every scan.
  static let unknown = FileIdentity(inode: 0, size: 0, modified: 0)
}

/// What a scan found out about one file.
struct ProbedFile: Sendable {
  enum Finding: Sendable {
    case image(ProbedImage)
    /// Not an image, or not readable: the reason, for people.
    case unreadable(String)
  }

  let path: [UInt8]
  /// What the file was when it was looked at; for one that could not be, an identity that no file has.
  let identity: FileIdentity
  let finding: Finding
}

/// An image's properties as its file tells them.
struct ProbedImage: Sendable {
  let uniformTypeIdentifier: String
  let pixelSize: PixelSize
  let orientation: Orientation
  let hasAlpha: Bool
  let creationDate: Timestamp
  let creationDateSource: DateSource
  let modificationDate: Timestamp
  let location: Location?
  let cameraMake: String?
  let cameraModel: String?
  let thumbnail: ByteRange?
}

extension Catalogue {
  /// The highest row number given out so far: rows that a scan adds itself lie above it.
  func lastFileID() throws(AssetSourceError) -> Int64 {
    try read { try Int64.fetchOne($0, sql: "SELECT max(id) FROM file") ?? 0 }
  }

  /// Known files in the order of their paths, from behind one, a page at a time, up to a row number.
  func knownFiles(after path: [UInt8]?, upTo lastID: Int64, limit: Int) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: "SELECT id, path, inode, size, modified FROM file WHERE path > ? AND id <= ? ORDER BY path LIMIT ?"),
        arguments: [Data(path ?? []), lastID, limit])
      var files: [KnownFile] = []
      while let row = try rows.next() { files.append(try Self.knownFile(row)) }
      return files
    }
  }

  /// The known files that were this one, by the file system's word: the same inode, size and time.
  func knownFiles(like identity: FileIdentity) throws(AssetSourceError) -> [KnownFile] {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: "SELECT id, path, inode, size, modified FROM file WHERE inode = ? AND size = ? AND modified = ?"),
        arguments: [Int64(bitPattern: identity.inode), identity.size, identity.modified])
      var files: [KnownFile] = []
      while let row = try rows.next() { files.append(try Self.knownFile(row)) }
      return files
    }
  }

  func fileCount() throws(AssetSourceError) -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM file") ?? 0 }
  }

  /// Files that were found under another name keep their row, and so their asset. Whatever had that name loses it, until
  /// it is found itself; so names may also be exchanged.
  func move(_ moves: [(file: KnownFile, to: [UInt8])]) throws(AssetSourceError) {
    guard !moves.isEmpty else { return }
    try write { db, token in
      for (file, _) in moves {
        try db.cachedStatement(sql: "UPDATE file SET path = ? WHERE id = ?").execute(arguments: [
          Self.noPath(file.id), file.id,
        ])
      }
      for (file, path) in moves {
        let previous = try Int64.fetchOne(
          db.cachedStatement(sql: "SELECT id FROM file WHERE path = ?"), arguments: [Data(path)])
        if let previous {
          try db.cachedStatement(sql: "UPDATE file SET path = ? WHERE id = ?")
            .execute(arguments: [Self.noPath(previous), previous])
        }
        try db.cachedStatement(sql: "UPDATE file SET path = ? WHERE id = ?").execute(arguments: [Data(path), file.id])
        try db.cachedStatement(sql: "UPDATE asset SET revision = ? WHERE id = (SELECT asset FROM file WHERE id = ?)")
          .execute(arguments: [token, file.id])
      }
    }
  }

  /// What stands for the path of a row that has none: no path holds a NUL.
  private static func noPath(_ id: Int64) -> Data { Data([0]) + Data(String(id).utf8) }

  /// Puts a batch of findings into the catalogue, all or none.
  func store(_ files: [ProbedFile]) throws(AssetSourceError) {
    guard !files.isEmpty else { return }
    // What can't be read is noted, but is no change of the library.
    let changesLibrary = files.contains { if case .image = $0.finding { true } else { false } }
    try write(takesToken: changesLibrary) { db, token in
      let key = SymmetricKey(
        data: try Data.fetchOne(db, sql: "SELECT value FROM library WHERE key = 'contentKey'") ?? Data())
      for file in files { try Self.store(file, db, token: token, key: key) }
    }
  }

  /// Files that are no longer there: their rows go, and their assets with them.
  func remove(_ files: [KnownFile]) throws(AssetSourceError) {
    guard !files.isEmpty else { return }
    try write { db, _ in
      for file in files {
        let asset = try Int64.fetchOne(
          db.cachedStatement(sql: "DELETE FROM file WHERE id = ? RETURNING asset"), arguments: [file.id])
        guard let asset else { continue }
        try db.cachedStatement(sql: "DELETE FROM asset WHERE id = ?").execute(arguments: [asset])
      }
    }
  }

  /// What the last complete scan was made with; empty if there was none.
  func probeMark() throws(AssetSourceError) -> String {
    try read { try String.fetchOne($0, sql: "SELECT value FROM library WHERE key = 'probe'") ?? "" }
  }

  /// Notes that a scan was complete. It is no change of the library, and takes no token; it writes only what is new.
  func scanIsComplete(probeMark: String) throws(AssetSourceError) {
    let isKnown = try read { db in
      try Bool.fetchOne(
        db,
        sql:
          "SELECT (SELECT value FROM library WHERE key = 'isFirstScanComplete') AND (SELECT value FROM library WHERE key = 'probe') = ?",
        arguments: [probeMark]) ?? false
    }
    if isKnown { return }
    do {
      try pool.write { db in
        try db.execute(sql: "UPDATE library SET value = 1 WHERE key = 'isFirstScanComplete'")
        try db.execute(sql: "UPDATE library SET value = ? WHERE key = 'probe'", arguments: [probeMark])
      }
    } catch {
      throw Self.translated(error)
    }
  }

  /// One transaction with the token of the change that it is.
  private func write(
    takesToken: Bool = true, _ body: (Database, _ token: Int64) throws -> Void
  ) throws(AssetSourceError) {
    do {
      try pool.write { db in
        let step = takesToken ? 1 : 0
        let token =
          try Int64.fetchOne(
            db, sql: "UPDATE library SET value = value + ? WHERE key = 'token' RETURNING value", arguments: [step]) ?? 0
        try body(db, token)
      }
    } catch {
      throw Self.translated(error)
    }
  }

  private static func store(_ file: ProbedFile, _ db: Database, token: Int64, key: SymmetricKey) throws {
    // By path and now: what the scan knew when it walked past may have been moved since, also by this batch.
    let row = try Row.fetchOne(
      db.cachedStatement(sql: "SELECT id, asset FROM file WHERE path = ?"), arguments: [Data(file.path)])
    let previous: Int64? = row?[1]
    let asset: Int64?
    var thumbnail: ByteRange?
    switch file.finding {
    case .image(let image):
      thumbnail = image.thumbnail
      let version = contentVersion(of: file.identity, key: key)
      asset = try previous.map { try update($0, image, version, token, db) } ?? insert(image, version, token, db)
    case .unreadable(let reason):
      if let previous {
        // Being unreadable is no deletion: a photograph may be half copied, or its disk ill. It keeps its identity, which
        // is not the file's, and so is looked at again by every scan until it can be read or is gone.
        try db.cachedStatement(
          sql: "UPDATE file SET unreadableReason = ?1 WHERE asset = ?2 AND unreadableReason IS NOT ?1"
        )
        .execute(arguments: [reason, previous])
        return
      }
      asset = nil
    }
    let reason: String? = if case .unreadable(let text) = file.finding { text } else { nil }
    try db.cachedStatement(
      sql: """
        INSERT INTO file (asset, path, inode, size, modified, thumbnailOffset, thumbnailLength, unreadableReason)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (path) DO UPDATE SET asset = excluded.asset, inode = excluded.inode, size = excluded.size,
          modified = excluded.modified, thumbnailOffset = excluded.thumbnailOffset,
          thumbnailLength = excluded.thumbnailLength, unreadableReason = excluded.unreadableReason
        """
    )
    .execute(arguments: [
      asset, Data(file.path), Int64(bitPattern: file.identity.inode), file.identity.size, file.identity.modified,
      thumbnail?.offset, thumbnail?.length, reason,
    ])
  }

  private static let properties = [
    "contentVersion", "revision", "mediaType", "uniformTypeIdentifier", "pixelWidth", "pixelHeight", "orientation",
    "hasAlpha", "creationDate", "creationDateSource", "modificationDate", "latitude", "longitude", "altitude",
    "cameraMake", "cameraModel",
  ]

  private static func arguments(_ image: ProbedImage, _ version: String, _ token: Int64) -> StatementArguments {
    [
      version, token, MediaType.image.rawValue, image.uniformTypeIdentifier, image.pixelSize.width,
      image.pixelSize.height, image.orientation.rawValue, image.hasAlpha, image.creationDate.milliseconds,
      image.creationDateSource.rawValue, image.modificationDate.milliseconds, image.location?.latitude,
      image.location?.longitude, image.location?.altitude, image.cameraMake, image.cameraModel,
    ]
  }

  private static func insert(_ image: ProbedImage, _ version: String, _ token: Int64, _ db: Database) throws -> Int64 {
    let names = properties.joined(separator: ", ")
    let marks = properties.map { _ in "?" }.joined(separator: ", ")
    try db.cachedStatement(sql: "INSERT INTO asset (\(names), localIdentifier) VALUES (\(marks), ?)")
      .execute(arguments: arguments(image, version, token) + [Base64URL.randomIdentifier()])
    return db.lastInsertedRowID
  }

  private static func update(
    _ id: Int64, _ image: ProbedImage, _ version: String, _ token: Int64, _ db: Database
  ) throws -> Int64 {
    let assignments = properties.map { "\($0) = ?" }.joined(separator: ", ")
    try db.cachedStatement(sql: "UPDATE asset SET \(assignments) WHERE id = ?")
      .execute(arguments: arguments(image, version, token) + [id])
    return id
  }

  /// HMAC-SHA256 over the file's identity, cut to 128 bits.
  private static func contentVersion(of identity: FileIdentity, key: SymmetricKey) -> String {
    var message = Data()
    for value in [identity.inode, UInt64(bitPattern: identity.size), UInt64(bitPattern: identity.modified)] {
      withUnsafeBytes(of: value.littleEndian) { message.append(contentsOf: $0) }
    }
    return Base64URL.encode(HMAC<SHA256>.authenticationCode(for: message, using: key).prefix(16))
  }

  private static func knownFile(_ row: Row) throws -> KnownFile {
    KnownFile(
      id: row[0], path: try row.withUnsafeData(atIndex: 1) { $0.map { [UInt8]($0) } ?? [] },
      identity: FileIdentity(inode: UInt64(bitPattern: row[2] as Int64), size: row[3], modified: row[4]))
  }
}
