import type { PromptImage } from "../../server/dashboard/session-api.ts";

export interface NamedImage extends PromptImage {
  readonly name: string;
}

/** What agents take. */
export const IMAGE_TYPES = "image/png,image/jpeg,image/gif,image/webp";

/** Bytes above which an image is made smaller, and the pixels of its longer side then: models see no more. */
const LARGE = 1_000_000;
const LONGEST_SIDE = 2_000;

/** The images among files that were chosen, pasted or dropped. Throws in words for one that cannot be read. */
export async function imagesIn(files: Iterable<File>): Promise<NamedImage[]> {
  const found: NamedImage[] = [];
  for (const file of files) {
    if (!IMAGE_TYPES.split(",").includes(file.type)) {
      throw new Error(`'${file.name}' is not a PNG, JPEG, GIF or WebP image.`);
    }
    const image = file.size > LARGE ? await smaller(file) : file;
    const mimeType = image.type as PromptImage["mimeType"];
    found.push({ name: file.name, mimeType, data: (await image.bytes()).toBase64() });
  }
  return found;
}

async function smaller(file: File): Promise<Blob> {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error(`'${file.name}' cannot be read as an image.`);
  });
  const scale = Math.min(1, LONGEST_SIDE / Math.max(bitmap.width, bitmap.height));
  const [width, height] = [Math.ceil(bitmap.width * scale), Math.ceil(bitmap.height * scale)];
  const canvas = new OffscreenCanvas(width, height);
  canvas.getContext("2d")?.drawImage(bitmap, 0, 0, width, height);
  bitmap.close();
  return canvas.convertToBlob({ type: "image/jpeg", quality: 0.85 });
}
