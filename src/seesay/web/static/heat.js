// Heat maps over a photo.

const STOPS = [[120, 40, 140], [200, 45, 90], [240, 105, 40], [255, 180, 50], [255, 245, 170]]; // as embers, glowing up

// The colour of a heat from 0 to 100, with how much it covers the photo.
export function colour(heat) {
  const warmth = Math.min(1, Math.max(0, heat / 100));
  const at = warmth * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const mixed = STOPS[low].map((part, place) => Math.round(part + (STOPS[low + 1][place] - part) * (at - low)));
  return [...mixed, Math.round(215 * warmth * warmth * (3 - 2 * warmth))];
}

export function drawHeat(canvas, rows) {
  const pen = canvas.getContext("2d");
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = width;
  canvas.height = height;
  if (!rows.length || !width || !height) return;
  const small = document.createElement("canvas");
  small.width = rows[0].length;
  small.height = rows.length;
  small.getContext("2d").putImageData(
    new ImageData(Uint8ClampedArray.from(rows.flat().flatMap(colour)), small.width, small.height), 0, 0,
  );
  pen.imageSmoothingEnabled = true;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(small, 0, 0, width, height);
}

export function clearHeat(canvas) {
  canvas.getContext("2d").clearRect(0, 0, canvas.width, canvas.height);
}
