// The files of a drop, those inside dropped folders too, each with the folder that it lies in: { file, folder }.

export function isFileDrag(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}

export async function filesOf(transfer) {
  // Both lists die with the event: they are read before anything is waited for.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  const plain = [...transfer.files];
  if (!entries.some((entry) => entry.isDirectory)) return plain.map((file) => ({ file, folder: "" }));
  const found = await Promise.all(entries.map(walk));
  return found.flat();
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, folder: folderOf(entry.fullPath.slice(1)) }];
  }
  const reader = entry.createReader();
  const files = [];
  // A reader gives its entries in portions, and an empty one at the end.
  for (let batch = await read(reader); batch.length > 0; batch = await read(reader)) {
    for (const child of batch) {
      if (!child.name.startsWith(".")) files.push(...(await walk(child)));
    }
  }
  return files;
}

export function folderOf(path) {
  return path.split("/").slice(0, -1).join("/");
}

function read(reader) {
  return new Promise((resolve, reject) => reader.readEntries(resolve, reject));
}
