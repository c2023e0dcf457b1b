// Styles are bundled into page.css.
declare module "*.css";
