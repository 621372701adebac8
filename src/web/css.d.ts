/** The bundler takes style sheets out of the script. */
declare module "*.css";
