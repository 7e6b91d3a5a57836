import GRDB
import PhotoModel

/// The change list entries that describe an asset: titles, captions, keywords, ratings and picks of bursts.
extension ChangeListWriter {
  /// The update without the parts that would replace a user's values: see ``AssetUpdate/onlyAdds``.
  func additions(of update: AssetUpdate, to asset: Int64) throws -> AssetUpdate {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: "SELECT creationDateSource, hasUserLocation, userFields, keywords FROM asset WHERE id = ?"),
      arguments: [asset])
    guard let row else { return update }
    var update = update
    if row[0] == DateSource.user.rawValue { (update.creationDate, update.utcOffset) = (nil, nil) }
    if row[1] { update.location = nil }
    let userFields = UserFields(rawValue: row[2])
    if userFields.contains(.title) { update.title = nil }
    if userFields.contains(.caption) { update.caption = nil }
    if userFields.contains(.rating) { update.rating = nil }
    if let keywords = update.keywords {
      let words = try TextList.strings(row[3])
      let more = keywords.filter { !words.contains($0) }
      let isUsers = userFields.contains(.keywords)
      update.keywords = more.isEmpty || isUsers ? nil : Array((words + more).prefix(limits.keywords))
    }
    return update
  }

  func updateDescription(of asset: Int64, _ update: AssetUpdate) throws {
    if let title = update.title { try set(.title, "title", title, asset) }
    if let caption = update.caption { try set(.caption, "caption", caption, asset) }
    if let keywords = update.keywords { try set(.keywords, "keywords", TextList.json(keywords), asset) }
    if let rating = update.rating { try set(.rating, "rating", rating, asset) }
    if let regions = update.regions { try set(regions, of: asset) }
  }

  /// Sets the regions, in coordinates of the current picture, and the names of the people in them. The content version
  /// changes, because pictures that are cropped to regions do. The placeholder stays valid.
  private func set(_ regions: [PictureRegion], of asset: Int64) throws {
    let row = try Row.fetchOne(
      db.cachedStatement(
        sql: """
          SELECT regions, people, adjustments, unadjustedWidth, unadjustedHeight FROM asset WHERE id = ?
          """), arguments: [asset])
    guard let row else { return }
    let former: String? = row[0]
    let people = try TextList.strings(row[1])
    var regions = regions
    if let operations: String = row[2], let width: Int = row[3], let height: Int = row[4] {
      let geometry = AdjustedGeometry(
        StoredAdjustments.readableOperations(operations), of: PixelSize(width: width, height: height))
      regions = try geometry.unadjusted(regions, replacing: RegionList.regions(former))
    }
    let json = RegionList.json(regions)
    let field = UserFields.regions.rawValue
    guard json != former else {
      return try run(
        "UPDATE asset SET userFields = userFields | ?1 WHERE id = ?2 AND userFields & ?1 = 0", [field, asset])
    }
    func names(_ regions: [PictureRegion]) -> [String] { regions.filter { $0.kind == .face }.compactMap(\.name) }
    let formerNames = try Set(names(RegionList.regions(former)))
    var seen: Set<String> = []
    let all = (names(regions) + people.filter { !formerNames.contains($0) }).filter { seen.insert($0).inserted }
    let version = "substr(contentVersion, 1, length(contentVersion) - length(regionsVersion)) || ?3"
    try run(
      """
      UPDATE asset SET regions = ?1, people = ?2, userFields = userFields | \(field), regionsVersion = ?3,
        contentVersion = \(version),
        placeholderVersion = CASE placeholderVersion WHEN contentVersion THEN \(version) ELSE placeholderVersion END,
        revision = ?4, modificationDate = ?5
      WHERE id = ?6
      """,
      [
        json, TextList.json(Array(all.prefix(DescriptiveLimits.people))), assets.regionsVersion(json), token,
        assets.now,
        asset,
      ])
  }

  /// Sets a property, and records that its value is a user's. Confirming the file's own value is not a visible change.
  private func set(
    _ field: UserFields, _ column: String, _ value: (some DatabaseValueConvertible)?, _ asset: Int64
  ) throws {
    try run(
      """
      UPDATE asset SET \(column) = ?1, userFields = userFields | \(field.rawValue),
        revision = CASE WHEN \(column) IS ?1 THEN revision ELSE ?3 END
      WHERE id = ?2 AND (\(column) IS NOT ?1 OR userFields & \(field.rawValue) = 0)
      """, [value, asset, token])
  }

  /// Sets or clears the user's pick of a picture of a burst. A picked picture is listed besides the representative one.
  func setUserPick(_ isUserPick: Bool, _ asset: Int64, _ name: ChangeTarget) throws {
    if isUserPick {
      let isOfBurst = try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT burstIdentifier IS NOT NULL FROM asset WHERE id = ?"), arguments: [asset])
      guard isOfBurst == true else {
        throw ChangeListError(.notOfBurst(name.description), parameter: "burstSelectionTypes")
      }
    }
    let bit = BurstSelectionTypes.userPick.rawValue
    try run(
      """
      UPDATE asset SET burstSelectionTypes = (burstSelectionTypes & ~\(bit)) | ?1, revision = ?3
      WHERE id = ?2 AND burstSelectionTypes & \(bit) <> ?1
      """, [isUserPick ? bit : 0, asset, token])
  }
}
