#include "CEmbeddedFiles.h"

// Clang accepts #embed before C23 too.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char components_json[] = {
#embed "components.json"
};
static const unsigned char address_js[] = {
#embed "gallery/address.js"
};
static const unsigned char api_js[] = {
#embed "gallery/api.js"
};
static const unsigned char app_js[] = {
#embed "gallery/app.js"
};
static const unsigned char dialogs_js[] = {
#embed "gallery/dialogs.js"
};
static const unsigned char dom_js[] = {
#embed "gallery/dom.js"
};
static const unsigned char edit_js[] = {
#embed "gallery/edit.js"
};
static const unsigned char fetchresult_js[] = {
#embed "gallery/fetchresult.js"
};
static const unsigned char gallery_css[] = {
#embed "gallery/gallery.css"
};
static const unsigned char icon_svg[] = {
#embed "gallery/icon.svg"
};
static const unsigned char index_html[] = {
#embed "gallery/index.html"
};
static const unsigned char layout_js[] = {
#embed "gallery/layout.js"
};
static const unsigned char panel_js[] = {
#embed "gallery/panel.js"
};
static const unsigned char search_js[] = {
#embed "gallery/search.js"
};
static const unsigned char selection_js[] = {
#embed "gallery/selection.js"
};
static const unsigned char sidebar_js[] = {
#embed "gallery/sidebar.js"
};
static const unsigned char strings_js[] = {
#embed "gallery/strings.js"
};
static const unsigned char thumbhash_js[] = {
#embed "gallery/thumbhash.js"
};
static const unsigned char timeline_js[] = {
#embed "gallery/timeline.js"
};
static const unsigned char uploads_js[] = {
#embed "gallery/uploads.js"
};
static const unsigned char viewer_js[] = {
#embed "gallery/viewer.js"
};
static const unsigned char zoom_js[] = {
#embed "gallery/zoom.js"
};

#define FILE(path, bytes) {path, bytes, sizeof bytes}

static const struct photod_embedded_file files[] = {
    FILE("components.json", components_json),
    FILE("gallery/address.js", address_js),
    FILE("gallery/api.js", api_js),
    FILE("gallery/app.js", app_js),
    FILE("gallery/dialogs.js", dialogs_js),
    FILE("gallery/dom.js", dom_js),
    FILE("gallery/edit.js", edit_js),
    FILE("gallery/fetchresult.js", fetchresult_js),
    FILE("gallery/gallery.css", gallery_css),
    FILE("gallery/icon.svg", icon_svg),
    FILE("gallery/index.html", index_html),
    FILE("gallery/layout.js", layout_js),
    FILE("gallery/panel.js", panel_js),
    FILE("gallery/search.js", search_js),
    FILE("gallery/selection.js", selection_js),
    FILE("gallery/sidebar.js", sidebar_js),
    FILE("gallery/strings.js", strings_js),
    FILE("gallery/thumbhash.js", thumbhash_js),
    FILE("gallery/timeline.js", timeline_js),
    FILE("gallery/uploads.js", uploads_js),
    FILE("gallery/viewer.js", viewer_js),
    FILE("gallery/zoom.js", zoom_js),
};

const struct photod_embedded_file *photod_embedded_files(size_t *count) {
  *count = sizeof files / sizeof files[0];
  return files;
}
