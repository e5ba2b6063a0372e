// The menu of versions. Their list is versions.js beside the folders of the versions (tools/make_site.py): a script and not JSON, so that
// it loads from a disk as well. Without it, the menu has this version only.
"use strict";
(() => {
  const base = new URL(document.documentElement.dataset.content_root, location.href);
  const select = document.getElementById("versions");
  const note = document.getElementById("versions-note");
  const current = select.value;

  /** Open a version at the same page if it has that page, else at its first. */
  async function open(folder) {
    const other = new URL(`../${folder}/`, base);
    const same = new URL(location.pathname.slice(base.pathname.length), other);
    const found = await fetch(same, { method: "HEAD" }).then((answer) => answer.ok, () => false);
    location.href = found ? same : new URL("index.html", other);
  }

  function show() {
    const versions = window.calibrantVersions;
    select.replaceChildren(...versions.map(({ folder, version }) => new Option(version, folder, false, version === current)));
    select.addEventListener("change", () => open(select.value));
    const stable = versions.find((each) => each.stable);
    if (!stable || stable.version === current) return;
    const link = Object.assign(document.createElement("a"), { textContent: stable.version, href: new URL(`../${stable.folder}/index.html`, base) });
    note.replaceChildren("This is not the latest release, ", link, ".");
    note.hidden = false;
  }

  const list = document.createElement("script");
  list.src = new URL("../versions.js", base);
  list.addEventListener("load", show);
  document.head.append(list);
})();
