// Where somebody left off in each document, kept by this browser alone.
const KEY = "docmill-places";
// Of more documents the places that were kept first are forgotten.
const DOCUMENTS_MAX = 100;

export function placeIn(id) {
  return read().find(([known]) => known === id)?.[1];
}

export function keepPlace(id, page) {
  const places = read().filter(([known]) => known !== id);
  if (page > 1) places.push([id, page]);
  try {
    localStorage.setItem(KEY, JSON.stringify(places.slice(-DOCUMENTS_MAX)));
  } catch {
    // A browser that keeps nothing for pages: the document begins at its beginning.
  }
}

function read() {
  try {
    const places = JSON.parse(localStorage.getItem(KEY));
    return Array.isArray(places) ? places.filter((each) => Array.isArray(each) && Number.isInteger(each[1])) : [];
  } catch {
    return [];
  }
}
